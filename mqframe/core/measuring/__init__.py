"""Counters that become rates, and message traces."""
