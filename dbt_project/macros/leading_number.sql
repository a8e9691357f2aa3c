{# The number that a score begins with ("6: Marginally above", "3 good", "6.5", "1e+16"), or NULL; decimals are kept. #}
{% macro leading_number(text) -%}
    try_cast(regexp_extract({{ text }}, '^\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)', 1) as double)
{%- endmacro %}
