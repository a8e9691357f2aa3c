-- Every raw column of every edition, with its place.
{% for input in var('inputs') %}
select
    '{{ input.edition_id }}' as edition_id,
    file_row_number + 1 as row_number,
    nullif(regexp_extract(url, '[?&]id=([A-Za-z0-9_-]{8,15})(?:[^A-Za-z0-9_-]|$)', 1), '') as paper_id,
    * exclude (file_row_number)
from read_parquet('{{ input.path }}', file_row_number = true)
{{ "union all" if not loop.last }}
{% endfor %}
