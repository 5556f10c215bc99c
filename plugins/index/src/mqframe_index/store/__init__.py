"""The index's files, and what is found by them."""
