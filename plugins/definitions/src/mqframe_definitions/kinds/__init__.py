"""The kinds of definitions that every cluster has."""
