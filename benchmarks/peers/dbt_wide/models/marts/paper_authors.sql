with items as (

    select
        paper_id,
        generate_subscripts(authors, 1)::integer as position,
        edition_id,
        unnest(authors) as name,
        row_number
    from {{ ref('int_papers') }}

)

select
    paper_id,
    position,
    edition_id,
    name,
    'name:' || name_key(name) as author_id,
    null::varchar as affiliation,
    'hub_dataset' as source,
    1 as snapshot_number,
    row_number
from items
order by edition_id, paper_id, position
