with snapshots as (

    select * from {{ ref('stg_snapshots') }}

),

-- Rows in, counted at the source: the files' footers, the records, and the lengths of their lists.
rows_in as (

    select
        edition_id,
        snapshot_id,
        'paper' as row_kind,
        row_count as rows_in
    from snapshots
    where source != 'openreview'
    union all
    select
        edition_id,
        snapshot_id,
        unnest(['review', 'author']) as row_kind,
        unnest([coalesce(sum(len(reviews)), 0)::bigint, coalesce(sum(len(authors)), 0)::bigint]) as rows_in
    from {{ source('raw', 'hub_rows') }}
    where edition_id in (select edition_id from snapshots)
    group by edition_id, snapshot_id
    union all
    select
        edition_id,
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
        snapshot_id,
        'review' as row_kind,
        count(*) as rows_in
    from {{ ref('stg_paper_copilot__reviews') }}
    group by all
    union all
    {% for source in ['openreview', 'paper_copilot', 'conference_site'] %}
    select
        edition_id,
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
        snapshot_number,
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
        snapshot_number,
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
        snapshot_id,
        '{{ row_kind }}' as row_kind,
        count(*) as rows_merged
    from {{ ref(model) }}
    where outcome = 'merged'
    group by all
    {{ "union all" if not loop.last }}
    {% endfor %}

),

numbered as (

    select
        snapshots.edition_id,
        snapshots.snapshot_number,
        snapshots.source,
        rows_in.row_kind,
        rows_in.rows_in,
        merged.rows_merged
    from snapshots
    inner join rows_in on snapshots.edition_id = rows_in.edition_id and snapshots.snapshot_id = rows_in.snapshot_id
    left join merged
        on
            rows_in.edition_id = merged.edition_id
            and rows_in.snapshot_id = merged.snapshot_id
            and rows_in.row_kind = merged.row_kind

),

final as (

    select
        numbered.edition_id,
        numbered.snapshot_number,
        numbered.row_kind,
        numbered.source,
        numbered.rows_in::bigint as rows_in,
        coalesce(rows_in_marts.rows_in_marts, 0)::bigint as rows_in_marts,
        coalesce(numbered.rows_merged, 0)::bigint as rows_merged,
        coalesce(quarantined.rows_quarantined, 0)::bigint as rows_quarantined
    from numbered
    left join rows_in_marts using (edition_id, snapshot_number, row_kind)
    left join quarantined using (edition_id, snapshot_number, row_kind)

)

select * from final
order by edition_id, snapshot_number, row_kind
