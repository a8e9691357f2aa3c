select
    review_id,
    paper_id,
    edition_id,
    case when not contains(reviewer, '@') then regexp_extract(reviewer, '[^/]+$') end as reviewer_label,
    coalesce(regexp_matches(reviewer_label, '^((Anon)?Reviewer|R)(_[A-Za-z0-9]+|[0-9]+)$'), false)
        as is_reviewer_named,
    rating::double as rating,
    rating::varchar as rating_text,
    not list_contains(rating_scale, rating) as is_rating_off_scale,
    nullif(confidence, 0)::double as confidence,
    confidence::varchar as confidence_text,
    {% for score in [
        'soundness', 'presentation', 'contribution', 'correctness', 'technical_novelty', 'empirical_novelty'
    ] %}
    null::double as {{ score }},
    {% endfor %}
    summary,
    strengths,
    weaknesses,
    null::varchar as questions,
    main_text,
    word_count(concat_ws(' ', summary, strengths, weaknesses, main_text)) as word_count,
    word_count > 0 as has_text,
    case when date > 0 then make_timestamp_ms(date) end as reviewed_at,
    null::timestamp as modified_at,
    'hub_dataset' as source,
    1 as snapshot_number,
    row_number,
    item_number
from {{ ref('int_reviews') }}
inner join {{ ref('stg_editions') }} using (edition_id)
