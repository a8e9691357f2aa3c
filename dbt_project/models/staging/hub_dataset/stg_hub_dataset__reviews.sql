with hub_rows as (

    select * from {{ source('raw', 'hub_rows') }}

),

items as (

    select
        edition_id,
        snapshot_id,
        row_number,
        file_number,
        file_row_number,
        generate_subscripts(reviews, 1) as item_number,
        unnest(reviews) as item
    from hub_rows
    where edition_id in (select edition_id from {{ ref('stg_editions') }})

),

renamed as (

    select
        edition_id,
        'hub_dataset' as source,
        snapshot_id,
        row_number,
        file_number,
        file_row_number,
        item_number,
        case
            when item is null then 'the review is null'
            when nullif(trim(item.review_id), '') is null then 'the review has no id'
        end as record_problem,
        nullif(trim(item.review_id), '') as review_id,
        nullif(trim(item.reviewer), '') as reviewer_signature,
        item.rating::varchar as rating_text,
        item.confidence::varchar as confidence_text
    from items

)

select * from renamed
