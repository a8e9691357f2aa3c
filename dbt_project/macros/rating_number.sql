{#
    A rating as a number. Paper Copilot writes 0 for "none"; only a scale that has a 0 makes it a rating.
#}
{% macro rating_number(text, source, scale) -%}
    case
        when {{ source }} = 'paper_copilot' and not coalesce(list_contains({{ scale }}, 0), false)
            then nullif({{ leading_number(text) }}, 0)
        else {{ leading_number(text) }}
    end
{%- endmacro %}
