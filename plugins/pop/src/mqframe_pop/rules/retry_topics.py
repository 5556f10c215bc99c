"""Names of the topics in which popped messages come again (source: KeyBuilder.java)."""

from __future__ import annotations

from mqframe.core.messages.names import RETRY_PREFIX


def pop_retry_topic(topic: str, group: str, *, v2: bool = False) -> str:
    """Where messages of `topic` go that `group` popped and did not acknowledge."""
    return f"{RETRY_PREFIX}{group}{'+' if v2 else '_'}{topic}"
