"""The index of keys: a broker service that finds messages by key or unique id, with RocketMQ's files.

Each part is imported where it is used: `settings` for configurations, `service` by brokers, `store` by what
looks at the files of a broker that does not run.
"""
