"""Transactional messages: half messages, their ends, and when a producer is asked."""
