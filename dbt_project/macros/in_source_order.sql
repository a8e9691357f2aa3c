{#
    Hooks for a mart whose text streams through joins: one thread, because with more of them a hash join over Parquet
    gives rows in another order each time, and other bytes from the same input. Sorting text would cost more.
#}
{% macro in_source_order() -%}
    {{ config(
        pre_hook = "set threads = 1",
        post_hook = "set threads = " ~ env_var('DUCKDB_THREADS', '2')
    ) }}
{%- endmacro %}
