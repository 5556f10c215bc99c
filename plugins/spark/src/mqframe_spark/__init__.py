"""Topics as Spark tables, and a dispatcher that feeds Parquet."""
