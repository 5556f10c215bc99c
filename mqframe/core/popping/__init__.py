"""POP consumption: check points, receipt handles, ordered pops, assignment by the broker."""
