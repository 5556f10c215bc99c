"""The rules of a mirror: values in, values out; no clock, no network."""
