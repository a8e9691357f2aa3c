with paper_authors as (

    select * from {{ ref('paper_authors') }}

),

editions as (

    select edition_id, year from {{ ref('stg_editions') }}

),

spellings as (

    select
        paper_authors.author_id,
        paper_authors.name,
        count(*) as use_count
    from paper_authors
    group by paper_authors.author_id, paper_authors.name

),

names as (

    select
        author_id,
        -- The spelling used most, then the first in the alphabet.
        first(name order by use_count desc, name) as display_name,
        list(name order by name) as name_variants
    from spellings
    group by author_id

),

papers as (

    select
        paper_authors.author_id,
        count(distinct paper_authors.paper_id) as paper_count,
        min(editions.year) as first_year,
        max(editions.year) as last_year
    from paper_authors
    inner join editions on paper_authors.edition_id = editions.edition_id
    group by paper_authors.author_id

),

final as (

    select
        names.author_id,
        case when starts_with(names.author_id, '~') then 'openreview_profile' else 'normalised_name' end
            as identity_basis,
        names.display_name,
        names.name_variants,
        papers.paper_count::integer as paper_count,
        papers.first_year,
        papers.last_year
    from names
    inner join papers on names.author_id = papers.author_id

)

select * from final
order by author_id
