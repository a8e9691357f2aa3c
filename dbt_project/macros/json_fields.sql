{# Select-list items `name` for JSON paths of `record`, which is parsed once; the paths are a mapping name -> path. #}
{% macro json_fields(paths) -%}
    {% for name in paths %}
    fields[{{ loop.index }}] as {{ name }}{{ "," if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{% macro json_paths(paths) -%}
    json_extract_string(record, [
        {%- for name, path in paths.items() %}
        '{{ path }}'{{ "," if not loop.last }}
        {%- endfor %}
    ])
{%- endmacro %}
