with papers as (

    select
        paper_id,
        edition_id,
        abstract
    from {{ ref('papers') }}
    where contains(abstract, '://')

),

link_hosts as (

    select * from {{ ref('link_hosts') }}

),

found as (

    select
        paper_id,
        edition_id,
        unnest({{ urls('abstract') }}) as url
    from papers

),

distinct_links as (

    select distinct
        paper_id,
        edition_id,
        url
    from found

),

-- The first host in the seed's order wins: `huggingface.co/datasets` stands before `huggingface.co`.
classified as (

    select
        distinct_links.paper_id,
        distinct_links.url,
        distinct_links.edition_id,
        first(link_hosts.link_type order by link_hosts.priority) as link_type
    from distinct_links
    left join link_hosts on contains(lower(distinct_links.url), link_hosts.pattern)
    group by distinct_links.paper_id, distinct_links.url, distinct_links.edition_id

),

final as (

    select
        paper_id,
        url,
        edition_id,
        coalesce(link_type, 'other') as link_type
    from classified

)

select * from final
order by edition_id, paper_id, url
