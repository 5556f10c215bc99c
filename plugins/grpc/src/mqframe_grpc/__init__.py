"""RocketMQ's gRPC protocol, for brokers and before them.

Nothing is imported here: brokers find their part by themselves.
"""
