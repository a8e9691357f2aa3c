"""What the bytes of a source are: JSON records, Parquet files. Which columns they must have is for `stage` to say."""
