{# A UTC timestamp from milliseconds since 1970 as text or number; absent, zero or unreadable becomes NULL. #}
{% macro epoch_ms(value) -%}
    make_timestamp_ms(nullif(try_cast({{ value }} as bigint), 0))
{%- endmacro %}
