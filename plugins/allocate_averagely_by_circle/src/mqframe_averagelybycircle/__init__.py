"""Queues dealt one at a time."""
