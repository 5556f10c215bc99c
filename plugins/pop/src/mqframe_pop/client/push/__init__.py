"""Push consumers that pop: listeners get what brokers hand out, and each message is acknowledged."""
