{# The number of words, runs of non-blank characters, in several texts together; absent texts have none. #}
{% macro word_count(texts) -%}
    (
        {% for text in texts -%}
            len(regexp_extract_all(coalesce({{ text }}, ''), '\S+')){{ ' + ' if not loop.last }}
        {%- endfor %}
    )::integer
{%- endmacro %}
