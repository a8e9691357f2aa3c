{# Who signed, without the group before it; an e-mail address is nobody's label. #}
{% macro reviewer_label(signature) -%}
    case when not contains({{ signature }}, '@') then regexp_extract({{ signature }}, '[^/]+$') end
{%- endmacro %}

{#
    Whether a label names one reviewer of its paper: `Reviewer_NkPg`, `AnonReviewer2`, `anonymous reviewer 8a58` (2013),
    `R_a`, a profile. Others name a role (`Authors`, `Program_Chairs`, `Reviewers`), which may sign several times.
#}
{% macro is_reviewer_named(label) -%}
    coalesce(regexp_matches(
        {{ label }}, '^(?:(?:.*[_ ])?(?:[Aa]non)?[Rr]eviewer(?:[_ ][A-Za-z0-9]+|[0-9]+)|R(?:_[A-Za-z0-9]+|[0-9]+)|~.+)$'
    ), false)
{%- endmacro %}
