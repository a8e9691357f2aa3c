{% for mart, kind in {'papers': 'paper', 'reviews': 'review', 'paper_authors': 'author'}.items() %}
select
    edition_id,
    1 as snapshot_number,
    '{{ kind }}' as row_kind,
    'hub_dataset' as source,
    count(*) as rows_in,
    count(*) as rows_in_marts,
    0 as rows_merged,
    0 as rows_quarantined
from {{ ref(mart) }}
group by all
{{ "union all" if not loop.last }}
{% endfor %}
