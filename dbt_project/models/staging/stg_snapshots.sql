with snapshots as (

    select * from {{ source('raw', 'snapshots') }}

),

wanted_editions as (

    select edition_id from {{ ref('stg_editions') }}

),

renamed as (

    select
        edition_id,
        row_number() over (partition by edition_id order by dataset_schema, source)::integer as snapshot_number,
        dataset_schema as source,
        snapshot_id,
        as_of_at,
        landed_number,
        row_count
    from snapshots
    where edition_id in (select edition_id from wanted_editions)

)

select * from renamed
