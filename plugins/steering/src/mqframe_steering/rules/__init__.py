"""Which topics patterns mean, and when a topic is gone."""
