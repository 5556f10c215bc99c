"""Transactional messages at the broker: half messages, their ends and the checks."""
