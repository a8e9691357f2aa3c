with notes as (

    select * from {{ ref('base_openreview__notes') }}
    where kind not in ('paper', 'review') and record_problem is null and id is not null

),

renamed as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        case when is_deleted then 'the note was deleted upstream' end as record_problem,
        id as note_id,
        forum as paper_id,
        replyto as reply_to,
        kind,
        signature_label as author_label,
        title,
        coalesce(decision, recommendation) as decision_text,
        nullif(
            concat_ws(
                E'\n\n', metareview, comment, desk_reject_comments, withdrawal_confirmation, summary, strengths,
                weaknesses, questions, review
            ), ''
        ) as main_text,
        created_at,
        modified_at
    from notes

)

select * from renamed
