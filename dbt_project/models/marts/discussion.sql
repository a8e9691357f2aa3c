with notes as (

    select * from {{ ref('int_discussion_rows') }}
    where outcome = 'kept'

),

final as (

    select
        note_id,
        paper_id,
        edition_id,
        reply_to,
        kind,
        author_label,
        title,
        decision_text,
        main_text,
        created_at,
        modified_at,
        source,
        snapshot_id,
        row_number
    from notes

)

select * from final
order by edition_id, paper_id, created_at, note_id
