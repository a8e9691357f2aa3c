{# The parts of a joined text, without blanks around them and without empty ones; NULL where there is none. #}
{% macro split_list(text, separator) -%}
    nullif(
        list_filter(
            list_transform(string_split(coalesce({{ text }}, ''), '{{ separator }}'), lambda part: trim(part)),
            lambda part: part != ''
        ),
        []
    )
{%- endmacro %}

{# The items of a `;`-joined column in their places, empty ones as NULL; no items where all are empty. #}
{% macro score_list(text) -%}
    case
        when coalesce(trim({{ text }}, '; '), '') != ''
            then list_transform(string_split({{ text }}, ';'), lambda part: nullif(trim(part), ''))
        else []
    end
{%- endmacro %}

{# The archive's joined ratings: of the column that has any, since some years call them recommendations. #}
{% macro archive_ratings() -%}
    case when coalesce(trim(rating, '; '), '') = '' then recommendation else rating end
{%- endmacro %}

{# The texts of a list of JSON values, anything else as NULL. #}
{% macro text_items(items) -%}
    list_transform({{ items }}, lambda item: case when json_type(item) = 'VARCHAR' then item ->> '$' end)
{%- endmacro %}

{# A JSON array of texts as a list; one plain text (as some years have it) becomes its `;`- or `,`-joined parts. #}
{% macro json_list(text) -%}
    case
        when starts_with({{ text }}, '[') and json_valid({{ text }}) then from_json({{ text }}, '["JSON"]')
        when not starts_with({{ text }}, '{') then list_transform(
            string_split_regex({{ text }}, '\s*[;,]\s*'), lambda part: to_json(part)
        )
    end
{%- endmacro %}
