"""Requests that are messages: producers wait for replies, brokers hand these to who waits.

Nothing is imported here: producers and brokers find their parts by themselves.
"""
