"""State that all parts of a broker share: identity, live settings, statistics, saved tables."""
