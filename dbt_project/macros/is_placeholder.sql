{# Whether an abstract that is there says nothing: a stock phrase, a word or two, or only the title again. #}
{% macro is_placeholder(abstract, title) -%}
    coalesce(
        length({{ abstract }}) < 20
        or (length({{ abstract }}) = length({{ title }}) and lower({{ abstract }}) = lower({{ title }})),
        false
    )
{%- endmacro %}
