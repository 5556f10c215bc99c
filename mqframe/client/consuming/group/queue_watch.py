"""Tells applications that the queues of a topic, or those of their own, changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from mqframe.core.message import MessageQueue
from mqframe.log import get_logger

log = get_logger("client")


class QueueWatch:
    """Listeners by topic, each with what it was told last. A listener that fails is logged, no more."""

    def __init__(self) -> None:
        self._listeners: dict[str, Callable[..., Any]] = {}
        self._told: dict[str, tuple[MessageQueue, ...]] = {}

    def put(self, topic: str, listener: Callable[..., Any] | None) -> None:
        """Have `listener` told of `topic`, in the place of the one before; `None`: nobody."""
        self._told.pop(topic, None)
        if listener is None:
            self._listeners.pop(topic, None)
        else:
            self._listeners[topic] = listener

    @property
    def topics(self) -> list[str]:
        """The topics that somebody wants to be told of."""
        return list(self._listeners)

    def note(self, topic: str, queues: Sequence[MessageQueue]) -> bool:
        """Whether `queues` differ from those that were noted last. Remembers them."""
        now = tuple(queues)
        changed = self._told.get(topic) != now
        self._told[topic] = now
        return changed

    async def tell(self, topic: str, *words: object) -> None:
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
