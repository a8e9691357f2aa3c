with author_rows as (

    select * from {{ ref('int_author_rows') }}
    where outcome = 'kept'

),

snapshots as (

    select * from {{ ref('stg_snapshots') }}

),

final as (

    select
        author_rows.paper_id,
        author_rows.item_number::integer as position,
        author_rows.edition_id,
        author_rows.name,
        coalesce(author_rows.profile_id, 'name:' || author_rows.name_key) as author_id,
        author_rows.affiliation,
        author_rows.source,
        snapshots.snapshot_number,
        author_rows.row_number
    from author_rows
    inner join snapshots
        on author_rows.edition_id = snapshots.edition_id and author_rows.snapshot_id = snapshots.snapshot_id

)

select * from final
order by edition_id, paper_id, position
