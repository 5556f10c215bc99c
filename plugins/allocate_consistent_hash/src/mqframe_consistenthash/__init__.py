"""Queues shared by a consistent-hash ring."""
