"""What the bytes of a source are: JSON records, Parquet files. Which columns they need is the contract's, in `stage`."""
