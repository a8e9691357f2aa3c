{{ config(meta = {'dagster': {'ref': {'name': 'int_row_conservation'}}}) }}

-- A crawl's records are papers, reviews or notes, and together as many as landed.
with snapshots as (

    select * from {{ ref('stg_snapshots') }}
    where source = 'openreview'

),

counted as (

    select
        edition_id,
        snapshot_id,
        sum(rows_in) as rows_in
    from {{ ref('int_row_conservation') }}
    where source = 'openreview' and row_kind != 'author'
    group by edition_id, snapshot_id

)

select
    snapshots.*,
    counted.rows_in
from snapshots
left join counted using (edition_id, snapshot_id)
where snapshots.row_count != coalesce(counted.rows_in, 0)
