"""Requests that store messages, and the broker's own writes."""
