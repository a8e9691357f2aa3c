{#
    Select-list items `name` for JSON paths of `record`, which is parsed once for values and once for types; the paths are
    a mapping name -> path. A field among `texts` is one only where it is text, one among `lists` is taken as it is, and
    any other is text or a number: an object or a list never passes for a text, it is NULL.
#}
{% macro json_fields(paths, texts=[], lists=[]) -%}
    {% for name in paths %}
    {% if name in lists -%}
    fields[{{ loop.index }}]
    {%- elif name in texts -%}
    case when types[{{ loop.index }}] = 'VARCHAR' then fields[{{ loop.index }}] end
    {%- else -%}
    case when types[{{ loop.index }}] not in ('OBJECT', 'ARRAY') then fields[{{ loop.index }}] end
    {%- endif %} as {{ name }}{{ "," if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{% macro json_paths(paths) -%}
    json_extract_string(record, {{ json_path_list(paths) }})
{%- endmacro %}

{% macro json_types(paths) -%}
    json_type(record, {{ json_path_list(paths) }})
{%- endmacro %}

{% macro json_path_list(paths) -%}
    [
        {%- for name, path in paths.items() %}
        '{{ path }}'{{ "," if not loop.last }}
        {%- endfor %}
    ]
{%- endmacro %}
