"""Alarms: what somebody should look at, on top of every page."""
