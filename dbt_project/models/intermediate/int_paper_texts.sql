-- The texts of a paper from the sources that are JSON, each of the fullest row; the Hub's stay in its files.
with texts as (

    select
        edition_id,
        snapshot_id,
        row_number,
        abstract,
        bibtex
    from {{ ref('int_source_papers') }}
    where source != 'hub_dataset'

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
