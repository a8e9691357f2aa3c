"""Model: dbt, the process it runs in, and the Python functions that its SQL calls. The models are in `dbt_project/`."""
