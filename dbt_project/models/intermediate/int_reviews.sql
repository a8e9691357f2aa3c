with kept_reviews as (

    select * from {{ ref('int_review_rows') }}
    where outcome = 'kept'

),

papers as (

    select paper_id, edition_id from {{ ref('int_papers') }}

),

scales as (

    select
        editions.edition_id,
        rating_scales.score_field,
        list_transform(string_split(rating_scales.allowed_ratings, ' '), lambda given: given::double) as rating_scale
    from {{ ref('stg_editions') }} as editions
    inner join {{ ref('rating_scales') }} as rating_scales
        on
            editions.venue = rating_scales.venue
            and editions.year between rating_scales.first_year and rating_scales.last_year

),

final as (

    select
        kept_reviews.review_id,
        kept_reviews.paper_id,
        papers.edition_id,
        kept_reviews.source,
        kept_reviews.snapshot_id,
        kept_reviews.row_number,
        kept_reviews.file_number,
        kept_reviews.file_row_number,
        kept_reviews.item_number,
        kept_reviews.reviewer_signature,
        kept_reviews.rating::double as rating,
        kept_reviews.rating::varchar as rating_text,
        kept_reviews.confidence::double as confidence,
        kept_reviews.confidence::varchar as confidence_text,
        -- NULL where there is no rating, or where the edition's scale is not known.
        not list_contains(scales.rating_scale, kept_reviews.rating::double) as is_rating_off_scale
    from kept_reviews
    inner join papers on kept_reviews.paper_id = papers.paper_id
    left join scales on papers.edition_id = scales.edition_id

)

select * from final
