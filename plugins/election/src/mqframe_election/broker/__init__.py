"""Brokers of elected groups: a leader, its followers, and the change from one to the other."""
