"""Consume hooks: called before and after every call of a message listener, around it, or in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import attrs

from mqframe.core.clock import TimerClock
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.hooks.interfaces.hook_port import ClientHook


@attrs.define
class ConsumeContext:
    """One call of a listener. `outcome` is one of "success", "failed", "timeout", "exception", "null".

    `elapsed_seconds`, `outcome`, `success`, `error` are set once the listener ended: `around` finds them when
    it is left, `after` likewise. `extras` is the hooks' own. `broadcasting`: every member of the group gets
    every message; `ordered`: the messages of a queue are consumed one after the other.
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
    broadcasting: bool = False
    ordered: bool = False


class ConsumeHook(ClientHook[ConsumeContext]):
    """Sees each call of a listener, before and after it, or wraps it; or is called in its place."""

    def around(self, context: ConsumeContext) -> AbstractContextManager[object]:
        """Called after `before`; the listener runs inside of what is returned, and `after` comes last.

        It is entered and left by the thread that calls a plain listener, or the task that awaits an
        `async def` one, so that context variables set here hold in the listener. An exception of the listener
        is shown to it and goes on as it is: it cannot be swallowed nor replaced.
        """
        return nullcontext()

    def wrap(
        self, call: Callable[..., Any], topic: str, clock: TimerClock, is_async: bool, batch_max: int
    ) -> Callable[..., Any]:
        """What is called in place of `call`, a listener of `topic`, once that is subscribed. May raise.

        `call(messages, context)` returns a `ConsumeResult`, where `is_async` one to await; else it runs in a
        thread, which may wait. `batch_max`: messages of one call, at most. `clock`: that of the consumer.
        """
        return call
