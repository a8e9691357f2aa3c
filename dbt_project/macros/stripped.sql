{# A text without blanks around it; NULL where nothing is left. `trim` reads a text to its end, so it is asked first. #}
{% macro stripped(text) -%}
    case
        when trim({{ text }}[1]) = '' or trim({{ text }}[-1]) = '' then nullif(trim({{ text }}), '')
        else {{ text }}
    end
{%- endmacro %}
