"""Each machine room serves its own consumers."""
