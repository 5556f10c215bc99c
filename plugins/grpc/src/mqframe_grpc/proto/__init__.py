"""The messages of RocketMQ's gRPC protocol (`apache.rocketmq.v2`)."""
