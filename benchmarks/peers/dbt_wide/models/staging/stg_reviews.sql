-- One row a review with everything that the raw row says of it.
with items as (

    select
        edition_id,
        row_number,
        paper_id,
        generate_subscripts(reviews, 1)::integer as item_number,
        unnest(reviews) as item
    from {{ ref('stg_hub') }}

)

select
    edition_id,
    row_number,
    paper_id,
    item_number,
    nullif(trim(item.review_id), '') as review_id,
    nullif(trim(item.reviewer), '') as reviewer,
    item.rating,
    item.confidence,
    item.date,
    nullif(trim(item.summary), '') as summary,
    nullif(trim(item.strengths), '') as strengths,
    nullif(trim(item.weaknesses), '') as weaknesses,
    nullif(trim(item.review), '') as main_text
from items
