"""Files of a store directory: where they lie, who owns them, how many are open."""
