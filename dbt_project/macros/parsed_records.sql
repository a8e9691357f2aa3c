{#
    The two CTEs that every model over a JSON source opens with: its records in released editions, and `parsed` with
    the values and the types of the paths that `json_fields` then names.
#}
{% macro parsed_records(dataset_schema, paths) -%}
    records as (

        select * from {{ source('raw', 'json_records') }}
        where
            dataset_schema = '{{ dataset_schema }}'
            and edition_id in (select edition_id from {{ ref('stg_editions') }})

    ),

    parsed as (

        select
            edition_id,
            dataset_schema as source,
            snapshot_id,
            row_number,
            problem as record_problem,
            case when problem is null then {{ json_paths(paths) }} end as fields,
            case when problem is null then {{ json_types(paths) }} end as types
        from records

    )
{%- endmacro %}
