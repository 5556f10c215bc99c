"""Writing topics exactly once."""
