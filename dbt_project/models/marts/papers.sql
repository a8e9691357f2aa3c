with texts as (

    select * from {{ source('raw', 'hub_dataset') }}

),

papers as (

    select * from {{ ref('int_papers') }}

),

ratings as (

    select * from {{ ref('int_paper_ratings') }}

),

final as (

    select
        papers.paper_id,
        papers.edition_id,
        papers.submission_number,
        trim(texts.title) as title,
        nullif(texts.abstract, '') as abstract,
        plain_text(nullif(texts.abstract, '')) as abstract_text,
        {{ is_placeholder('texts.abstract', 'texts.title') }} as is_placeholder_abstract,
        null::varchar[] as keywords,
        null::varchar as primary_area,
        papers.status,
        papers.decision,
        papers.venue_text,
        papers.is_blind,
        'https://openreview.net/forum?id=' || papers.paper_id as forum_url,
        nullif(texts.pdf, '') as pdf_url,
        nullif(texts._bibtex, '') as bibtex,
        null::timestamp as submitted_at,
        null::timestamp as modified_at,
        coalesce(ratings.review_count, 0)::integer as review_count,
        ratings.rating_mean,
        ratings.rating_stddev,
        ratings.rating_min,
        ratings.rating_max,
        ratings.confidence_mean,
        papers.merged_row_count::integer as merged_row_count,
        papers.source,
        papers.sources,
        papers.snapshot_id,
        papers.row_number
    from texts
    inner join papers
        on
            texts.edition_id = papers.edition_id
            and texts.snapshot_id = papers.snapshot_id
            and texts.row_number = papers.row_number
    left join ratings on papers.paper_id = ratings.paper_id

)

select * from final
