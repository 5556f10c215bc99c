"""Consume hooks: called before and after every call of a message listener."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.hooks.interfaces.hook_port import ClientHook


@attrs.define
class ConsumeContext:
    """One call of a listener. `outcome` is one of "success", "failed", "timeout", "exception", "null".

    `elapsed_seconds`, `outcome`, `error` are set before `after`. `extras` is the hooks' own.
    """

    group: str
    messages: Sequence[ReceivedMessage]
    queue: MessageQueue
    client_id: str
    outcome: str = ""
    success: bool = False
    elapsed_seconds: float = 0.0
    error: BaseException | None = None
    extras: dict[str, object] = attrs.field(factory=dict)


class ConsumeHook(ClientHook[ConsumeContext]):
    """Sees each call of a listener, before and after it."""
