{# Schemas are called what `dbt_project.yml` calls them, without the target's name before it. #}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name or target.schema }}
{%- endmacro %}
