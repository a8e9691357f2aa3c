with hub_texts as (

    select
        edition_id,
        snapshot_id,
        row_number,
        {{ stripped('abstract') }} as abstract,
        {{ stripped('_bibtex') }} as bibtex,
        case when regexp_matches(trim(pdf), '^https?://[^\s/]') then trim(pdf) end as pdf_url
    from {{ source('raw', 'hub_dataset') }}
    where {{ is_changed('edition_id') }}

),

-- The Hub row that each paper takes its texts from.
hub_rows as (

    select
        paper_id,
        edition_id,
        snapshot_id,
        row_number
    from {{ ref('int_paper_rows') }}
    where source = 'hub_dataset' and fullness_rank = 1

),

papers as (

    select * from {{ ref('int_papers') }}
    where {{ is_changed('edition_id') }}

),

json_texts as (

    select * from {{ ref('int_paper_texts') }}

),

ratings as (

    select * from {{ ref('int_paper_ratings') }}

),

snapshots as (

    select * from {{ ref('stg_snapshots') }}

),

-- Papers of the Hub stream past the narrow tables; papers that it does not have follow.
texts as (

    select
        hub_rows.paper_id,
        hub_texts.abstract,
        hub_texts.bibtex,
        hub_texts.pdf_url
    from hub_texts
    inner join hub_rows on {{ same_row('hub_texts', 'hub_rows') }}
    union all
    select
        papers.paper_id,
        null as abstract,
        null as bibtex,
        null as pdf_url
    from papers
    where papers.paper_id not in (select hub_rows.paper_id from hub_rows)

),

chosen as (

    select
        papers.*,
        coalesce(json_texts.preferred_abstract, texts.abstract, json_texts.other_abstract) as abstract,
        coalesce(json_texts.preferred_bibtex, texts.bibtex, json_texts.other_bibtex) as bibtex,
        coalesce(papers.pdf_url, texts.pdf_url) as chosen_pdf_url
    from texts
    inner join papers on texts.paper_id = papers.paper_id
    left join json_texts on texts.paper_id = json_texts.paper_id

),

final as (

    select
        chosen.paper_id,
        chosen.edition_id,
        chosen.submission_number,
        chosen.title,
        chosen.abstract,
        plain_text(chosen.abstract) as abstract_text,
        {{ is_placeholder('chosen.abstract', 'chosen.title') }} as is_placeholder_abstract,
        chosen.keywords,
        chosen.primary_area,
        chosen.status,
        chosen.decision,
        chosen.is_conditional,
        chosen.has_unknown_status,
        chosen.venue_text,
        chosen.is_blind,
        'https://openreview.net/forum?id=' || chosen.paper_id as forum_url,
        chosen.chosen_pdf_url as pdf_url,
        chosen.bibtex,
        chosen.submitted_at,
        chosen.modified_at,
        coalesce(ratings.review_count, 0)::integer as review_count,
        ratings.rating_mean,
        ratings.rating_stddev,
        ratings.rating_min,
        ratings.rating_max,
        ratings.confidence_mean,
        chosen.merged_row_count::integer as merged_row_count,
        chosen.source,
        chosen.sources,
        snapshots.snapshot_number,
        chosen.row_number
    from chosen
    inner join snapshots on chosen.edition_id = snapshots.edition_id and chosen.snapshot_id = snapshots.snapshot_id
    left join ratings on chosen.paper_id = ratings.paper_id

)

select * from final
{{ carried_over('papers', 'snapshots') }}
