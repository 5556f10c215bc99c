"""Consume queues: entries per queue, built from the log."""
