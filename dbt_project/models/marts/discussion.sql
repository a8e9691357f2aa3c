with notes as (

    select * from {{ ref('int_discussion_rows') }}
    where outcome = 'kept'

),

snapshots as (

    select * from {{ ref('stg_snapshots') }}

),

final as (

    select
        notes.note_id,
        notes.paper_id,
        notes.edition_id,
        notes.reply_to,
        notes.kind,
        notes.author_label,
        notes.title,
        notes.decision_text,
        notes.main_text,
        notes.created_at,
        notes.modified_at,
        notes.source,
        snapshots.snapshot_number,
        notes.row_number
    from notes
    inner join snapshots
        on notes.edition_id = snapshots.edition_id and notes.snapshot_id = snapshots.snapshot_id

)

select * from final
order by edition_id, paper_id, created_at, note_id
