with spellings as (

    select
        author_id,
        name,
        count(*) as use_count
    from {{ ref('paper_authors') }}
    group by all

),

papers as (

    select
        author_id,
        count(distinct paper_id) as paper_count,
        min(year) as first_year,
        max(year) as last_year
    from {{ ref('paper_authors') }}
    inner join {{ ref('stg_editions') }} using (edition_id)
    group by author_id

)

select
    author_id,
    'normalised_name' as identity_basis,
    first(name order by use_count desc, name) as display_name,
    list(name order by name) as name_variants,
    any_value(paper_count) as paper_count,
    any_value(first_year) as first_year,
    any_value(last_year) as last_year
from spellings
inner join papers using (author_id)
group by author_id
order by author_id
