"""Queues that brokers share out among members of groups, and whether these pull or pop them.

Nothing is imported here: brokers find their part by themselves, and administration takes `requests` and
`rules`.
"""
