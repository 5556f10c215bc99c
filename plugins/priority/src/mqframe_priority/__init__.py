"""Messages with a priority, as RocketMQ 5.4 has them: `with_priority` for senders, a service for brokers."""

from mqframe_priority.messages import priority_of, with_priority

__all__ = ["priority_of", "with_priority"]
