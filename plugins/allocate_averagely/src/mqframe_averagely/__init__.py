"""Contiguous shares of queues: the default allocation strategy."""
