"""A message queue for Python people, with the semantics, wire and files of Apache RocketMQ."""

__version__ = "0.1.0"
