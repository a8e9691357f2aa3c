"""The Dagster code location of the peer-review warehouse: land, stage, model, validate, publish."""
