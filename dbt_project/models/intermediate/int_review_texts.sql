{{ config(materialized = 'view') }}

-- A view, so that no text is written once more on its way to the mart.
with source_reviews as (

    select * from {{ ref('int_source_reviews') }}
    where source = 'openreview'

),

text_rows as (

    select * from {{ ref('int_review_text_rows') }}
    where source = 'openreview'

),

final as (

    select
        source_reviews.review_id,
        source_reviews.summary,
        source_reviews.strengths,
        source_reviews.weaknesses,
        source_reviews.questions,
        source_reviews.main_text
    from source_reviews
    inner join text_rows
        on
            {{ same_row('source_reviews', 'text_rows') }}
            and source_reviews.review_id = text_rows.review_id

)

select * from final
