"""The engine of coordination that comes along: for brokers of one machine."""
