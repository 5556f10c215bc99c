"""Messages that wait for a given time: a wheel of slots, a log of what is in them, a checkpoint."""
