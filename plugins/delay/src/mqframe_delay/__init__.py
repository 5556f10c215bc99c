"""Delivery at a given time: a broker service with a timer wheel in RocketMQ's files, and recalls.

Each part is imported where it is used: `settings` for configurations, `broker` by brokers, `store` by what
looks at the files of a broker that does not run.
"""
