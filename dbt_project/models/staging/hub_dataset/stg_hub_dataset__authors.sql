with hub_rows as (

    select * from {{ source('raw', 'hub_rows') }}

),

items as (

    select
        edition_id,
        'hub_dataset' as source,
        snapshot_id,
        row_number,
        generate_subscripts(authors, 1) as item_number,
        unnest(authors) as name
    from hub_rows
    where edition_id in (select edition_id from {{ ref('stg_editions') }})

)

select * from items
