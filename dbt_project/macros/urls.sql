{# The http(s) URLs in a text, in their order; LaTeX and Markdown around them and closing punctuation stay out. #}
{% macro urls(text) -%}
    list_filter(list_transform(
        regexp_extract_all({{ text }}, '(?i)https?://[^\s<>()\[\]{}"''`$|\\^]+'),
        lambda found: rtrim(found, '.,;:!?*_~''')
    ), lambda url: regexp_matches(url, '(?i)^https?://[^/]'))
{%- endmacro %}
