-- The texts of a paper from the sources that are JSON, each of the fullest row; the Hub's stay in its files.
with openreview as (

    select
        edition_id,
        snapshot_id,
        row_number,
        abstract,
        bibtex
    from {{ ref('stg_openreview__papers') }}

),

paper_copilot as (

    select
        edition_id,
        snapshot_id,
        row_number,
        abstract,
        bibtex
    from {{ ref('stg_paper_copilot__papers') }}

),

conference_site as (

    select
        edition_id,
        snapshot_id,
        row_number,
        abstract,
        null as bibtex
    from {{ ref('stg_conference_site__papers') }}

),

texts as (

    select * from openreview
    union all
    select * from paper_copilot
    union all
    select * from conference_site

),

paper_rows as (

    select
        paper_rows.*,
        precedence.abstract_priority,
        hub.abstract_priority as hub_abstract_priority
    from {{ ref('int_paper_rows') }} as paper_rows
    inner join {{ ref('int_source_precedence') }} as precedence on paper_rows.source = precedence.source
    inner join {{ ref('int_source_precedence') }} as hub on hub.source = 'hub_dataset'
    where paper_rows.problem is null and paper_rows.source != 'hub_dataset'

),

-- Before and after the Hub's place in the precedence of abstracts.
final as (

    select
        paper_rows.paper_id,
        first(texts.abstract order by abstract_priority, fullness_rank)
        filter (where texts.abstract is not null and abstract_priority < hub_abstract_priority) as preferred_abstract,
        first(texts.abstract order by abstract_priority, fullness_rank)
        filter (where texts.abstract is not null and abstract_priority > hub_abstract_priority) as other_abstract,
        first(texts.bibtex order by abstract_priority, fullness_rank)
        filter (where texts.bibtex is not null and abstract_priority < hub_abstract_priority) as preferred_bibtex,
        first(texts.bibtex order by abstract_priority, fullness_rank)
        filter (where texts.bibtex is not null and abstract_priority > hub_abstract_priority) as other_bibtex
    from texts
    inner join paper_rows using (edition_id, snapshot_id, row_number)
    group by paper_rows.paper_id

)

select * from final
