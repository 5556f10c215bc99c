"""Administration of topics, groups, offsets, members, messages and clusters."""
