{# Whether an abstract that is there says nothing: a stock phrase, a word or two, or only the title again. #}
{% macro is_placeholder(abstract, title) -%}
    coalesce(
        length(trim({{ abstract }})) < 20 or lower(trim({{ abstract }})) = lower(trim({{ title }})),
        false
    )
{%- endmacro %}
