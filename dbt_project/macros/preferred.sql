{# The value of a column that precedence prefers, among those that are there; ties go to the fuller row. #}
{% macro preferred(column, precedence=none) -%}
    first({{ column }} order by {{ precedence or column }}_priority, fullness_rank)
    filter (where {{ column }} is not null)
{%- endmacro %}
