"""Which part of the log is safe to show to consumers."""
