"""Where messages of subscribers come from: topics that a group shares, or by a pattern, and named queues."""
