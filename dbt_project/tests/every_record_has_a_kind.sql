{{ config(meta = {'dagster': {'ref': {'name': 'row_conservation'}}}) }}

-- A crawl's records are papers, reviews or notes, and together as many as landed.
with snapshots as (

    select * from {{ ref('stg_snapshots') }}
    where source = 'openreview'

),

counted as (

    select
        edition_id,
        snapshot_number,
        sum(rows_in) as rows_in
    from {{ ref('row_conservation') }}
    where source = 'openreview' and row_kind != 'author'
    group by edition_id, snapshot_number

)

select
    snapshots.*,
    counted.rows_in
from snapshots
left join counted using (edition_id, snapshot_number)
where snapshots.row_count != coalesce(counted.rows_in, 0)
