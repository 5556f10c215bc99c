"""Offset stores: local file, remote broker, SQLite."""
