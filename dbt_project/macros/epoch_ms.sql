{# A UTC timestamp from milliseconds since 1970 as text or number; absent, zero, unreadable or absurd becomes NULL. #}
{% macro epoch_ms(value) -%}
    case
        -- Until the year 2100; what is beyond is no date.
        when try_cast({{ value }} as bigint) between 1 and 4102444800000
            then make_timestamp_ms(try_cast({{ value }} as bigint))
    end
{%- endmacro %}
