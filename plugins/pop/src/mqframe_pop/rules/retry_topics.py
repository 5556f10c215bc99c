"""Where messages go that a group popped and did not acknowledge."""

from __future__ import annotations

from mqframe.core.messages.names import RETRY_PREFIX


def pop_retry_topic(topic: str, group: str, *, v2: bool = False) -> str:
    """The retry topic of `topic` for `group`, in the newer form with `v2`."""
    return f"{RETRY_PREFIX}{group}{'+' if v2 else '_'}{topic}"
