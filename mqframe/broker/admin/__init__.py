"""Requests of operators: topics, groups, statistics, offsets, and what running clients are asked."""
