"""Notifies applications that the queues of a topic, or those of their own, changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from mqframe.core.messages.message import MessageQueue
from mqframe.log import get_logger

log = get_logger("client")

AssignmentListener = Callable[[str, Sequence[MessageQueue], Sequence[MessageQueue]], Any]
"""Called with a topic, all its queues, and those that are this member's; a function or an `async def`."""
QueuesListener = Callable[[str, Sequence[MessageQueue]], Any]
"""Called with a topic and all its queues; a function or an `async def`."""


class QueueWatch:
    """Listeners by topic, each with the queues it heard of last. One that fails is logged, no more."""

    def __init__(self) -> None:
        self._listeners: dict[str, Callable[..., Any]] = {}
        self._noted: dict[str, tuple[MessageQueue, ...]] = {}

    def put(self, topic: str, listener: Callable[..., Any] | None) -> None:
        """Have `listener` notified of `topic`, in the place of the one before; `None`: nobody."""
        self._noted.pop(topic, None)
        if listener is None:
            self._listeners.pop(topic, None)
        else:
            self._listeners[topic] = listener

    @property
    def topics(self) -> list[str]:
        """The topics that have a listener."""
        return list(self._listeners)

    def note(self, topic: str, queues: Sequence[MessageQueue]) -> bool:
        """Whether `queues` differ from those that were noted last. Remembers them."""
        now = tuple(queues)
        changed = self._noted.get(topic) != now
        self._noted[topic] = now
        return changed

    async def notify(self, topic: str, *words: object) -> None:
        """Call the listener of `topic`."""
        listener = self._listeners.get(topic)
        if listener is None:
            return
        try:
            result = listener(topic, *words)
            if inspect.isawaitable(result):
                await result
        except Exception:  # isolation boundary: it is the application's code
            log.exception("a listener for changed queues failed", topic=topic)
