with papers as (

    select
        edition_id,
        count(*) as submission_count,
        {% for status in ['under_review', 'accepted', 'rejected', 'withdrawn', 'desk_rejected', 'workshop'] %}
        count(*) filter (where status = '{{ status }}') as {{ status }}_count,
        {% endfor %}
        count(*) filter (where has_unknown_status) as unknown_status_count
    from {{ ref('papers') }}
    group by edition_id

),

reviews as (

    select
        edition_id,
        count(*) as review_count,
        sum(rating) / count(rating) as rating_mean,
        count(*) filter (where is_rating_off_scale) as off_scale_rating_count
    from {{ ref('reviews') }}
    group by edition_id

)

select
    editions.*,
    papers.* exclude (edition_id),
    reviews.* exclude (edition_id),
    false as is_synthetic,
    null::timestamp as as_of_at,
    ['hub_dataset'] as sources,
    []::varchar[] as missing_sources,
    []::varchar[] as unknown_status_labels,
    case when accepted_count > 0 and rejected_count > 0 then accepted_count / submission_count end as acceptance_rate,
    null::varchar[] as disagreeing_figures,
    0 as merged_paper_row_count,
    0 as merged_review_row_count,
    0 as quarantined_row_count
from {{ ref('stg_editions') }} as editions
inner join papers using (edition_id)
inner join reviews using (edition_id)
