"""Stored records taken apart into Arrow columns."""
