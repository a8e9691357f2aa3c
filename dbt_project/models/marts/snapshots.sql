with snapshots as (

    select * from {{ ref('stg_snapshots') }}

),

final as (

    select
        edition_id,
        snapshot_number,
        source,
        snapshot_id,
        as_of_at,
        row_count
    from snapshots

)

select * from final
order by edition_id, snapshot_number
