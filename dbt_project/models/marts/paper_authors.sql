with author_rows as (

    select * from {{ ref('int_author_rows') }}
    where outcome = 'kept'

),

final as (

    select
        paper_id,
        item_number::integer as position,
        edition_id,
        name,
        coalesce(profile_id, 'name:' || name_key) as author_id,
        affiliation,
        source,
        snapshot_id,
        row_number
    from author_rows

)

select * from final
order by edition_id, paper_id, position
