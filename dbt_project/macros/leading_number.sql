{#
    The number that a score begins with ("6: Marginally above", "3 good", "6.5", "1e+16"), or NULL; decimals are kept. One
    of more than 15 digits is no score, and would be infinity in the end.
#}
{% macro leading_number(text) -%}
    try_cast(regexp_extract(
        {{ text }}, '^\s*(-?\d{1,15}(?:\.\d+)?(?:[eE][+-]?\d{1,2})?)(?:[^\d.eE]|[.eE](?:[^\d+-]|$)|$)', 1
    ) as double)
{%- endmacro %}
