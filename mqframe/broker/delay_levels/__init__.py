"""Messages that wait for a delay level: those of producers, and those whose consumers failed."""
