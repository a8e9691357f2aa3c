with snapshots as (

    select * from {{ ref('stg_snapshots') }}

),

-- Rows in, counted at the source: the files' footers and the lengths of their lists.
rows_in as (

    select
        edition_id,
        snapshot_id,
        'paper' as row_kind,
        row_count as rows_in
    from snapshots
    union all
    select
        edition_id,
        snapshot_id,
        unnest(['review', 'author']) as row_kind,
        unnest([coalesce(sum(len(reviews)), 0)::bigint, coalesce(sum(len(authors)), 0)::bigint]) as rows_in
    from {{ source('raw', 'hub_rows') }}
    where edition_id in (select edition_id from snapshots)
    group by edition_id, snapshot_id

),

-- Rows out, counted in the marts.
mart_rows as (

    select
        edition_id,
        snapshot_id,
        'paper' as row_kind
    from {{ ref('papers') }}
    union all
    select
        edition_id,
        snapshot_id,
        'review' as row_kind
    from {{ ref('reviews') }}
    union all
    select
        edition_id,
        snapshot_id,
        'author' as row_kind
    from {{ ref('paper_authors') }}

),

rows_in_marts as (

    select
        edition_id,
        snapshot_id,
        row_kind,
        count(*) as rows_in_marts
    from mart_rows
    group by edition_id, snapshot_id, row_kind

),

quarantined as (

    select
        edition_id,
        snapshot_id,
        row_kind,
        count(*) as rows_quarantined
    from {{ ref('quarantined_rows') }}
    group by edition_id, snapshot_id, row_kind

),

outcomes as (

    select
        edition_id,
        snapshot_id,
        'paper' as row_kind,
        outcome
    from {{ ref('int_paper_rows') }}
    union all
    select
        edition_id,
        snapshot_id,
        'review' as row_kind,
        outcome
    from {{ ref('int_review_rows') }}
    union all
    select
        edition_id,
        snapshot_id,
        'author' as row_kind,
        outcome
    from {{ ref('int_author_rows') }}

),

merged as (

    select
        edition_id,
        snapshot_id,
        row_kind,
        count(*) as rows_merged
    from outcomes
    where outcome = 'merged'
    group by edition_id, snapshot_id, row_kind

),

final as (

    select
        rows_in.edition_id,
        rows_in.snapshot_id,
        rows_in.row_kind,
        rows_in.rows_in,
        coalesce(rows_in_marts.rows_in_marts, 0) as rows_in_marts,
        coalesce(merged.rows_merged, 0) as rows_merged,
        coalesce(quarantined.rows_quarantined, 0) as rows_quarantined
    from rows_in
    left join rows_in_marts using (edition_id, snapshot_id, row_kind)
    left join merged using (edition_id, snapshot_id, row_kind)
    left join quarantined using (edition_id, snapshot_id, row_kind)

)

select * from final
