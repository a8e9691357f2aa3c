{# Whether an abstract says nothing: missing, a stock phrase, a word or two, or only the title again. #}
{% macro is_placeholder(abstract, title) -%}
    (
        length(trim(coalesce({{ abstract }}, ''))) < 20
        or coalesce(lower(trim({{ abstract }})) = lower(trim({{ title }})), false)
    )
{%- endmacro %}
