"""The engine of coordination that the kernel brings: for brokers of one machine."""
