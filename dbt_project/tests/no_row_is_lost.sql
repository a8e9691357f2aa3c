-- For every snapshot and kind of row: rows in = rows in marts + merged duplicates + quarantined rows.
select *
from {{ ref('row_conservation') }}
where rows_in != rows_in_marts + rows_merged + rows_quarantined
