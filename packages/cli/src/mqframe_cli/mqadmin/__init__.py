"""The commands of RocketMQ's `mqadmin`, by their names and with their options."""
