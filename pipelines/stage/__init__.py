"""Stage: landed snapshots, checked against their source's contract, become the raw tables and views that dbt reads."""
