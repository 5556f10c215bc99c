"""Processes that a command keeps running: what serves until a signal comes, workers, and brokers."""
