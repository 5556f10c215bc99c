"""All request kinds, one class each, and the table of them by code."""

from mqframe.core.requests import admin, consumers, insight, messages, nameserver, pop, replies
from mqframe.core.requests.fields import (
    REQUESTS,
    Header,
    NoHeader,
    Request,
    decode_fields,
    encode_fields,
)

__all__ = [
    "REQUESTS",
    "Header",
    "NoHeader",
    "Request",
    "admin",
    "consumers",
    "decode_fields",
    "encode_fields",
    "insight",
    "messages",
    "nameserver",
    "pop",
    "replies",
]
