"""Queues of the configured machine rooms."""
