"""The consume hook `rate_limits`: messages a second, and messages at once, by topic or by consumer."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_rate_limits.limits import RateLimitOptions, RateLimits

__all__ = ["RateLimitOptions", "RateLimits", "register_consume_hooks"]


@hookimpl
def register_consume_hooks() -> Factories:
    """The hook of consumers."""
    return {RateLimits.name: RateLimits}
