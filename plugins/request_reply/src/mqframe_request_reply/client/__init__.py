"""Producers that ask, and the replies that brokers hand to their client."""
