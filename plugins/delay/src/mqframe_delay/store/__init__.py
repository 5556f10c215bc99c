"""The timer's files: wheel, log and checkpoint."""
