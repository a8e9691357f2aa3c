with found as (

    select distinct
        paper_id,
        edition_id,
        unnest(list_filter(list_transform(
            regexp_extract_all(abstract, '(?i)https?://[^\s<>()\[\]{}"''`$|\\^]+'),
            lambda found: rtrim(found, '.,;:!?*_~''')
        ), lambda url: regexp_matches(url, '(?i)^https?://[^/]'))) as url
    from {{ ref('papers') }}

)

select
    paper_id,
    url,
    edition_id,
    coalesce(first(link_type order by priority), 'other') as link_type
from found
left join {{ ref('link_hosts') }} on contains(lower(url), pattern)
group by all
order by edition_id, paper_id, url
