"""The log of a slave: a copy of its master's."""
