"""What happens around every send."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mqframe.core.message import Message, MessageQueue, SendResult
from mqframe.hooks.interfaces.hook_port import HookPort


@attrs.define
class SendContext:
    """One kernel send. `messages` has one element except for batches; `mode` is "sync", "async" or "oneway".

    `result` and `error` are set before `after`. `extras` is the hooks' own, from `before` to `after`.
    """

    group: str
    messages: Sequence[Message]
    message_ids: Sequence[str]
    queue: MessageQueue
    broker_address: str
    mode: str
    born_timestamp: int
    result: SendResult | None = None
    error: BaseException | None = None
    extras: dict[str, object] = attrs.field(factory=dict)


class SendHook:
    """Sees each send. Synchronous; may not block. Exceptions are logged with the plugin's name and isolated.

    Implement one or both; before-hooks run in order, after-hooks in reverse.
    """

    name: str = ""

    def before(self, context: SendContext) -> None:
        """Called once for each try, before the request leaves."""

    def after(self, context: SendContext) -> None:
        """Called once for each try, with its result or error."""

    def attach(self, port: HookPort) -> None:
        """Called once, when the client starts, in its loop. For hooks that send messages of their own."""

    def detach(self) -> None:
        """Called when the client stops, in its loop: hand over what is left; it is still sent."""
