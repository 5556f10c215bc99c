"""Names of topics and groups: whether there are such, and what goes when they are deleted."""
