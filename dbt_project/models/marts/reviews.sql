with items as (

    select
        edition_id,
        snapshot_id,
        row_number,
        generate_subscripts(reviews, 1) as item_number,
        unnest(reviews) as item
    from {{ source('raw', 'hub_dataset') }}

),

reviews as (

    select * from {{ ref('int_reviews') }}

),

final as (

    select
        reviews.review_id,
        reviews.paper_id,
        reviews.edition_id,
        regexp_extract(reviews.reviewer_signature, '[^/]+$') as reviewer_label,
        reviews.rating,
        reviews.rating_text,
        reviews.is_rating_off_scale,
        reviews.confidence,
        reviews.confidence_text,
        null::double as soundness,
        null::double as presentation,
        null::double as contribution,
        nullif(items.item.summary, '') as summary,
        nullif(items.item.strengths, '') as strengths,
        nullif(items.item.weaknesses, '') as weaknesses,
        null::varchar as questions,
        nullif(items.item.review, '') as main_text,
        {{ word_count(['items.item.summary', 'items.item.strengths', 'items.item.weaknesses', 'items.item.review']) }}
            as word_count,
        -- The dataset writes 0 for "no date".
        make_timestamp_ms(nullif(items.item.date, 0)) as reviewed_at,
        null::timestamp as modified_at,
        reviews.source,
        reviews.snapshot_id,
        reviews.row_number,
        reviews.item_number::integer as item_number
    from items
    inner join reviews
        on
            items.edition_id = reviews.edition_id
            and items.snapshot_id = reviews.snapshot_id
            and items.row_number = reviews.row_number
            and items.item_number = reviews.item_number

)

select * from final
