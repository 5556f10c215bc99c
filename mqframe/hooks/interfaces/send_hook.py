"""Send hooks: called before and after every send of a producer."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mqframe.core.messages.message import Message, MessageQueue, SendResult
from mqframe.hooks.interfaces.hook_port import ClientHook


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


class SendHook(ClientHook[SendContext]):
    """Sees each try of a send: before the request leaves, and with its result or error."""
