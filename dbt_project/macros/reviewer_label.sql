{# Who signed, without the group before it; an e-mail address is nobody's label. #}
{% macro reviewer_label(signature) -%}
    case when not contains({{ signature }}, '@') then regexp_extract({{ signature }}, '[^/]+$') end
{%- endmacro %}

{# Whether a label names one reviewer of its paper (`Reviewer_NkPg`, `AnonReviewer2`, `R_a`), and no group (`Authors`). #}
{% macro is_reviewer_named(label) -%}
    coalesce(regexp_matches({{ label }}, '^((Anon)?Reviewer|R)(_[A-Za-z0-9]+|[0-9]+)$'), false)
{%- endmacro %}
