"""Consume retries: when a failed message comes again, when it is a dead letter, and all back-offs."""
