{# The OpenReview forum id in a URL such as https://openreview.net/forum?id=zzo3Sy3NSX, or NULL. #}
{% macro forum_id(url) -%}
    nullif(regexp_extract({{ url }}, '[?&]id=([A-Za-z0-9_-]{8,15})(?:[^A-Za-z0-9_-]|$)', 1), '')
{%- endmacro %}
