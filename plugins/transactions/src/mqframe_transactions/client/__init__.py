"""Transactional producers: half messages, their ends, and the answers to checks."""
