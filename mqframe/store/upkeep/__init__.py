"""Recovery at start, periodic flushes while running, clean-up of old files."""
