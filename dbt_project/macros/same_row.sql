{# Whether two relations speak of the same landed row, or with `item` of the same item of a list in it. #}
{% macro same_row(one, other, item=false) -%}
    {{ one }}.edition_id = {{ other }}.edition_id
    and {{ one }}.snapshot_id = {{ other }}.snapshot_id
    and {{ one }}.row_number = {{ other }}.row_number
    {%- if item %}
    and {{ one }}.item_number = {{ other }}.item_number
    {%- endif %}
{%- endmacro %}
