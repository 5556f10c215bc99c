"""Processes that a command starts and keeps running: workers, and brokers."""
