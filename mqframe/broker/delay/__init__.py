"""Delayed messages at the broker: delay levels, the timer, and recalls."""
