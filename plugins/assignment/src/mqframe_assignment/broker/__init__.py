"""The broker service: assignments, strategies by the names that clients send, what slaves copy."""
