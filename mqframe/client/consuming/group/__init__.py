"""What members of a consumer group have in common: rebalance, offsets, locks, subscriptions."""
