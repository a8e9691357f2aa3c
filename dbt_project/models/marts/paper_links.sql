with papers as (

    select
        paper_id,
        edition_id,
        abstract
    from {{ ref('papers') }}

),

link_hosts as (

    select * from {{ ref('link_hosts') }}

),

paper_rows as (

    select
        source_papers.code_url,
        source_papers.project_url,
        paper_rows.paper_id
    from {{ ref('int_source_papers') }} as source_papers
    inner join {{ ref('int_paper_rows') }} as paper_rows using (edition_id, snapshot_id, row_number)
    where paper_rows.problem is null

),

-- Links that authors gave in fields of their own, with what the field is for.
given as (

    {% for column, link_type in {'code_url': 'code', 'project_url': 'project'}.items() %}
    select
        paper_id,
        unnest({{ urls(column) }}) as url,
        '{{ link_type }}' as given_type
    from paper_rows
    {{ "union all" if not loop.last }}
    {% endfor %}

),

found as (

    select
        paper_id,
        unnest({{ urls('abstract') }}) as url,
        null as given_type
    from papers
    where contains(abstract, '://')
    union all
    select * from given

),

distinct_links as (

    select
        found.paper_id,
        papers.edition_id,
        found.url,
        min(found.given_type) as given_type
    from papers
    inner join found on papers.paper_id = found.paper_id
    group by found.paper_id, papers.edition_id, found.url

),

-- The first host in the seed's order wins: `huggingface.co/datasets` stands before `huggingface.co`.
classified as (

    select
        distinct_links.paper_id,
        distinct_links.url,
        distinct_links.edition_id,
        distinct_links.given_type,
        first(link_hosts.link_type order by link_hosts.priority) as link_type
    from distinct_links
    left join link_hosts on contains(lower(distinct_links.url), link_hosts.pattern)
    group by distinct_links.paper_id, distinct_links.url, distinct_links.edition_id, distinct_links.given_type

),

final as (

    select
        paper_id,
        url,
        edition_id,
        coalesce(link_type, given_type, 'other') as link_type
    from classified

)

select * from final
order by edition_id, paper_id, url
