{# Whether an abstract says nothing: missing, a stock phrase, a word or two, or only the title again. #}
{% macro is_placeholder(abstract, title) -%}
    (
        length(trim(coalesce({{ abstract }}, ''))) < 20
        or lower(trim({{ abstract }})) = lower(trim({{ title }}))
    )
{%- endmacro %}
