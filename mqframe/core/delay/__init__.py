"""Delayed messages: levels, delivery at any time, and the layout of the timer's files."""
