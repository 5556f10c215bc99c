"""Rules of consumers: subscriptions, rebalance, process queues, pulls, offsets, queue locks."""
