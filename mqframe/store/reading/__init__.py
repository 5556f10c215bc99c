"""Reads by offset, time and key."""
