"""Consume hooks around one call of a listener, in whatever thread or task calls it."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.hooks.interfaces import ConsumeContext, ConsumeHook
from mqframe.hooks.isolate import after_each, before_each
from mqframe.hooks.isolate_listeners import Entered, enter_each, leave_each


@attrs.frozen(kw_only=True)
class ListenerHooks:
    """The consume hooks of one consumer; false when there is none. The rest is what they are told of it."""

    hooks: Sequence[ConsumeHook] = ()
    group: str = ""
    client_id: str = ""
    broadcasting: bool = False
    ordered: bool = False
    _wrapping: Sequence[ConsumeHook] = attrs.field(init=False)

    @_wrapping.default
    def _those_that_wrap(self) -> tuple[ConsumeHook, ...]:
        return tuple(hook for hook in self.hooks if type(hook).around is not ConsumeHook.around)

    def __bool__(self) -> bool:
        return bool(self.hooks)

    def begin(self, messages: Sequence[ReceivedMessage], queue: MessageQueue) -> WatchedCall:
        """A listener is about to be called here."""
        context = ConsumeContext(
            self.group, messages, queue, self.client_id, broadcasting=self.broadcasting, ordered=self.ordered
        )
        before_each(self.hooks, context)
        entered = enter_each(self._wrapping, context) if self._wrapping else ()
        return WatchedCall(self.hooks, context, entered)


class WatchedCall:
    """One call that hooks watch; `context` is to be filled in before it is ended."""

    __slots__ = ("_entered", "_hooks", "context")

    def __init__(
        self, hooks: Sequence[ConsumeHook], context: ConsumeContext, entered: Sequence[Entered]
    ) -> None:
        self._hooks = hooks
        self._entered = entered
        self.context = context

    def end(self) -> None:
        """The listener ended, and `context` says how."""
        if self._entered:
            leave_each(self._entered, self.context.error)
        after_each(self._hooks, self.context)

    def abandon(self, interruption: BaseException) -> None:
        """The listener was cancelled, or its loop ended: nobody will know how it would have ended."""
        self.context.error = interruption
        if self._entered:
            leave_each(self._entered, interruption)
