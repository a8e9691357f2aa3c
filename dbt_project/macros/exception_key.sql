{# "Submitted to ICLR 2024" -> "submitted to": what is left of a status text without the venue's name and year. #}
{% macro exception_key(text) -%}
    case
        when {{ text }} is not null then coalesce(
            nullif(
                trim(regexp_replace(replace(lower({{ text }}), lower(venue || ' ' || year), ' '), '\s+', ' ', 'g')), ''
            ), '(venue only)'
        )
    end
{%- endmacro %}
