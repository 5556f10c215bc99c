"""Our clients on each version of Apache RocketMQ's brokers."""
