"""The commit log: files, appends, flush, recovery and clean-up."""
