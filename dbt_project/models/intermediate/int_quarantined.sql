{{ config(materialized = 'view') }}

with paper_rows as (

    select * from {{ ref('int_paper_rows') }}

),

-- An item of a list is found again by its row, which is a paper's.
author_rows as (

    select
        author_rows.*,
        paper_rows.file_row_number
    from {{ ref('int_author_rows') }} as author_rows
    inner join paper_rows on {{ same_row('author_rows', 'paper_rows') }}

),

review_rows as (

    select * from {{ ref('int_review_rows') }}

),

discussion_rows as (

    select * from {{ ref('int_discussion_rows') }}

),

final as (

    {% for relation, row_kind, item_number in [
        ('paper_rows', 'paper', '0'), ('review_rows', 'review', 'item_number'),
        ('author_rows', 'author', 'item_number'), ('discussion_rows', 'note', '0'),
    ] %}
    select
        edition_id,
        snapshot_id,
        row_number,
        {{ 'null' if row_kind == 'note' else 'file_row_number' }} as file_row_number,
        '{{ row_kind }}' as row_kind,
        {{ item_number }} as item_number,
        source,
        problem
    from {{ relation }}
    where outcome = 'quarantined'
    {{ "union all" if not loop.last }}
    {% endfor %}

)

select * from final
