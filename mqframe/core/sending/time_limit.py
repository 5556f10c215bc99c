"""The longest time that a caller gives a send."""

from __future__ import annotations

from mqframe.core.errors import FixError


def time_limit(timeout: float | None, default: float) -> float:
    """Seconds for a call: `timeout`, or `default` for `None`. Raises `FixError` unless above 0."""
    if timeout is None:
        return default
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise FixError(
            f"timeout={timeout!r} is no number of seconds above 0; leave it out for the usual {default:g} s"
        )
    return timeout
