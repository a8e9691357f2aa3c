with review_rows as (

    select * from {{ ref('int_review_rows') }}
    where problem is null

),

kept_reviews as (

    select * from review_rows
    where outcome = 'kept'

),

scales as (

    select * from {{ ref('int_rating_scales') }}

),

-- What the preferred row leaves out, another row of the same review may tell: hidden scores, times.
{% set filled = [
    'rating_text', 'confidence_text', 'soundness_text', 'presentation_text', 'contribution_text', 'correctness_text',
    'technical_novelty_text', 'empirical_novelty_text', 'reviewer_signature', 'reviewed_at', 'modified_at'
] %}
merged as (

    select
        review_id,
    {% for column in filled %}
    first({{ column }} order by overall_rank) filter (where {{ column }} is not null) as {{ column }}
    {{- "," if not loop.last }}
    {%- endfor %}
    from review_rows
    where is_shared
    group by review_id

),

numbered as (

    select
        kept_reviews.review_id,
        kept_reviews.paper_id,
        kept_reviews.edition_id,
        kept_reviews.source,
        kept_reviews.snapshot_id,
        kept_reviews.row_number,
        kept_reviews.item_number,
        scales.rating_scale,
        {% for column in filled %}
        coalesce(merged.{{ column }}, kept_reviews.{{ column }}) as {{ column }},
        {%- endfor %}
        {{ rating_number('coalesce(merged.rating_text, kept_reviews.rating_text)', 'kept_reviews.source',
            'scales.rating_scale') }} as rating
    from kept_reviews
    left join merged on kept_reviews.review_id = merged.review_id
    left join scales on kept_reviews.edition_id = scales.edition_id

),

final as (

    select
        * exclude (rating_scale),
        {% for score in ['confidence', 'soundness', 'presentation', 'contribution', 'correctness', 'technical_novelty',
            'empirical_novelty'] %}
        -- No form offers a 0 here: it stands for "none" or "not applicable".
        nullif({{ leading_number(score ~ '_text') }}, 0) as {{ score }},
        {% endfor %}
        -- NULL where there is no rating, or where the edition's scale is not known.
        not list_contains(rating_scale, rating) as is_rating_off_scale
    from numbered

)

select * from final
-- In source order, which the mart keeps: threads meet the rows of a join in another order each time.
order by edition_id, snapshot_id, row_number, item_number
