"""Counters that become rates."""
