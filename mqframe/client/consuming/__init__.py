"""Consumers: what a group shares, and the push, lite pull, simple and plain pull consumers."""
