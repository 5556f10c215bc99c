"""The send hook and the consume hook `expiry`: messages that nobody is to handle after a moment."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_expiry.consuming import ExpiredOptions, SkipsExpired
from mqframe_expiry.moment import EXPIRES, expires_ms, expiring, is_expired
from mqframe_expiry.sending import ExpiryOptions, SetsExpiry

__all__ = [
    "EXPIRES",
    "ExpiredOptions",
    "ExpiryOptions",
    "SetsExpiry",
    "SkipsExpired",
    "expires_ms",
    "expiring",
    "is_expired",
    "register_consume_hooks",
    "register_send_hooks",
]


@hookimpl
def register_send_hooks() -> Factories:
    """The hook of producers."""
    return {SetsExpiry.name: SetsExpiry}


@hookimpl
def register_consume_hooks() -> Factories:
    """The hook of consumers."""
    return {SkipsExpired.name: SkipsExpired}
