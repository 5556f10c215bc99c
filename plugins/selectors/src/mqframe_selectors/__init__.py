"""Queue selectors: hash, random, machine room, monotonic."""
