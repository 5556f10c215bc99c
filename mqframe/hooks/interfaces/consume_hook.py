"""What happens around every call of a listener."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.hooks.interfaces.hook_port import HookPort


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


class ConsumeHook:
    """Sees each call of a listener. Synchronous; may not block. Exceptions are logged and isolated."""

    name: str = ""

    def before(self, context: ConsumeContext) -> None:
        """Called before the listener."""

    def after(self, context: ConsumeContext) -> None:
        """Called after the listener, whatever came of it."""

    def attach(self, port: HookPort) -> None:
        """Called once, when the client starts, in its loop. For hooks that send messages of their own."""

    def detach(self) -> None:
        """Called when the client stops, in its loop: hand over what is left; it is still sent."""
