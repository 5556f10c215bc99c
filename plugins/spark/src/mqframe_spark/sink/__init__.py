"""Writing topics, at least once."""
