{#
    Every source, and what it tells about. A new one is a line here, a folder `models/staging/<source>/` with a model
    `stg_<source>__<kind>` for each kind, and its lines in the seed `source_precedence`. The columns of a kind are those
    of `int_source_<kind>`; a source leaves out what it does not have.
#}
{% macro union_sources(kind) -%}
    {%- set sources = {
        'hub_dataset': ['papers', 'reviews', 'authors'],
        'openreview': ['papers', 'reviews', 'authors', 'discussion'],
        'paper_copilot': ['papers', 'reviews', 'authors'],
        'conference_site': ['papers', 'authors'],
    } -%}
    {%- set arms = [] -%}
    {%- for source, kinds in sources.items() if kind in kinds -%}
        {%- do arms.append('select * from ' ~ ref('stg_' ~ source ~ '__' ~ kind)) -%}
    {%- endfor -%}
    {{ arms | join('\nunion all by name\n') }}
{%- endmacro %}
