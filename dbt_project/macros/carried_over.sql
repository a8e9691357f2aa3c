{#
    Text is moved only where something changed: an edition whose fingerprint is that of the current release keeps the
    release's rows (docs/decisions/0010). The pipeline attaches the release's database as `released`.
#}

{# Whether an edition's rows have to be made anew; a list of literals, so that DuckDB leaves the other files closed. #}
{% macro is_changed(edition_id) -%}
    {%- set fingerprints = ref('int_edition_fingerprints') -%}
    {%- set changed = [] -%}
    {%- if execute -%}
        {%- set rows = run_query('select edition_id from ' ~ fingerprints ~ ' where not is_released order by all') -%}
        {%- do changed.extend(rows.columns[0].values()) -%}
    {%- endif -%}
    {{ edition_id }} in ('{{ (changed or ['none']) | join("', '") }}')
{%- endmacro %}

{# A `union all` arm with the rows of all other editions, as they stand in the current release; nothing before that. #}
{% macro carried_over(mart, edition_ids) -%}
    {%- set released = adapter.get_relation('released', 'main', mart) if execute -%}
    {%- if released %}
    union all
    select released.*
    from {{ released }} as released
    where not {{ is_changed('released.edition_id') }}
        and released.edition_id in (select {{ edition_ids }}.edition_id from {{ edition_ids }})
    {%- endif %}
{%- endmacro %}

{# Whether the current release's database is there to take rows from; it is not where dbt runs without the pipeline. #}
{% macro has_released_database() -%}
    {{ (adapter.get_relation('released', 'main', 'papers') is not none) if execute else false }}
{%- endmacro %}
