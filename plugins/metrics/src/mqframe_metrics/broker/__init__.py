"""What monitoring is shown of a broker, under the names that RocketMQ gives it."""
