"""Stored records: their bytes, walking a commit log, and which files of it are deleted."""
