"""Jobs over topics: a user's pipeline on a stream, and ready-made ones. Each takes a Spark session."""
