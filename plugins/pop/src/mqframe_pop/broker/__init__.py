"""POP consumption at the broker: pops, acknowledgements, check points and their revival."""
