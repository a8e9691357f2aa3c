with ratings as (

    select
        paper_id,
        count(*) as review_count,
        sum(rating) / count(rating) as rating_mean,
        case
            when count(rating) > 1 then sqrt(
                greatest(sum(rating * rating) - sum(rating) * sum(rating) / count(rating), 0) / (count(rating) - 1)
            )
        end as rating_stddev,
        min(rating) as rating_min,
        max(rating) as rating_max,
        avg(confidence) as confidence_mean
    from {{ ref('reviews') }}
    group by paper_id

),

labelled as (

    select
        papers.*,
        coalesce(
            nullif(
                trim(regexp_replace(replace(lower(venue_text), lower(venue || ' ' || year), ' '), '\s+', ' ', 'g')), ''
            ), '(venue only)'
        ) as label
    from {{ ref('int_papers') }} as papers
    inner join {{ ref('stg_editions') }} using (edition_id)

)

select
    labelled.paper_id,
    edition_id,
    submission_number,
    title,
    abstract,
    plain_text(abstract) as abstract_text,
    coalesce(length(abstract) < 20 or lower(abstract) = lower(title), false) as is_placeholder_abstract,
    null::varchar[] as keywords,
    null::varchar as primary_area,
    case
        when coalesce(labels.status, 'under_review') != 'under_review' then labels.status
        when contains(invitation, 'Withdrawn_Submission') then 'withdrawn'
        when contains(invitation, 'Desk_Rejected_Submission') then 'desk_rejected'
        else labels.status
    end as status,
    labels.decision::varchar as decision,
    false as is_conditional,
    labels.status is null as has_unknown_status,
    venue_text,
    author_count = 0 as is_blind,
    'https://openreview.net/forum?id=' || labelled.paper_id as forum_url,
    pdf_url,
    bibtex,
    null::timestamp as submitted_at,
    null::timestamp as modified_at,
    coalesce(ratings.review_count, 0) as review_count,
    ratings.* exclude (paper_id, review_count),
    merged_row_count,
    'hub_dataset' as source,
    ['hub_dataset'] as sources,
    1 as snapshot_number,
    row_number
from labelled
left join ratings on labelled.paper_id = ratings.paper_id
left join {{ ref('generated_labels') }} as labels on labelled.label = labels.label
