"""A fixed list of queues."""
