"""Bodies as columns."""
