"""POP consumption: check points, receipt handles, ordered pops."""
