{% set keys = ['edition_id', 'source', 'snapshot_id', 'row_kind'] %}

with snapshots as (

    select * from {{ ref('stg_snapshots') }}

),

-- Rows in, counted at the source: the files' footers, the records, and the lengths of their lists.
rows_in as (

    select
        edition_id,
        source,
        snapshot_id,
        'paper' as row_kind,
        row_count as rows_in
    from snapshots
    where source != 'openreview'
    union all
    select
        edition_id,
        'hub_dataset' as source,
        snapshot_id,
        unnest(['review', 'author']) as row_kind,
        unnest([coalesce(sum(len(reviews)), 0)::bigint, coalesce(sum(len(authors)), 0)::bigint]) as rows_in
    from {{ source('raw', 'hub_rows') }}
    where edition_id in (select edition_id from snapshots)
    group by edition_id, snapshot_id
    union all
    select
        edition_id,
        source,
        snapshot_id,
        case
            when kind = 'review' then 'review'
            when kind = 'paper' or record_problem is not null or id is null then 'paper'
            else 'note'
        end as row_kind,
        count(*) as rows_in
    from {{ ref('base_openreview__notes') }}
    group by all
    union all
    select
        edition_id,
        source,
        snapshot_id,
        'review' as row_kind,
        count(*) as rows_in
    from {{ ref('stg_paper_copilot__reviews') }}
    group by all
    union all
    {% for source in ['openreview', 'paper_copilot', 'conference_site'] %}
    select
        edition_id,
        source,
        snapshot_id,
        'author' as row_kind,
        count(*) as rows_in
    from {{ ref('stg_' ~ source ~ '__authors') }}
    group by all
    {{ "union all" if not loop.last }}
    {% endfor %}

),

-- Rows out, counted in the marts.
rows_in_marts as (

    {% for mart, row_kind in {
        'papers': 'paper', 'reviews': 'review', 'paper_authors': 'author', 'discussion': 'note'
    }.items() %}
    select
        edition_id,
        source,
        snapshot_id,
        '{{ row_kind }}' as row_kind,
        count(*) as rows_in_marts
    from {{ ref(mart) }}
    group by all
    {{ "union all" if not loop.last }}
    {% endfor %}

),

quarantined as (

    select
        edition_id,
        source,
        snapshot_id,
        row_kind,
        count(*) as rows_quarantined
    from {{ ref('quarantined_rows') }}
    group by all

),

merged as (

    {% for model, row_kind in {
        'int_paper_rows': 'paper', 'int_review_rows': 'review', 'int_author_rows': 'author',
        'int_discussion_rows': 'note'
    }.items() %}
    select
        edition_id,
        source,
        snapshot_id,
        '{{ row_kind }}' as row_kind,
        count(*) as rows_merged
    from {{ ref(model) }}
    where outcome = 'merged'
    group by all
    {{ "union all" if not loop.last }}
    {% endfor %}

),

final as (

    select
        rows_in.edition_id,
        rows_in.source,
        rows_in.snapshot_id,
        rows_in.row_kind,
        rows_in.rows_in,
        coalesce(rows_in_marts.rows_in_marts, 0) as rows_in_marts,
        coalesce(merged.rows_merged, 0) as rows_merged,
        coalesce(quarantined.rows_quarantined, 0) as rows_quarantined
    from rows_in
    left join rows_in_marts using ({{ keys | join(', ') }})
    left join merged using ({{ keys | join(', ') }})
    left join quarantined using ({{ keys | join(', ') }})

)

select * from final
