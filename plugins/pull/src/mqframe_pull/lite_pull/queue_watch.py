"""Notifies applications that the queues of a topic, or those of their own, changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from mqframe.core.errors import CallTimeout
from mqframe.core.messages.message import MessageQueue
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, within
from mqframe_pull.lite_pull.prefetch_buffer import PrefetchBuffer

log = get_logger("client")

AssignmentListener = Callable[[str, Sequence[MessageQueue], Sequence[MessageQueue]], Any]
"""Called with a topic, all its queues, and those that are this member's; a function or an `async def`."""
QueuesListener = Callable[[str, Sequence[MessageQueue]], Any]
"""Called with a topic and all its queues; a function or an `async def`."""

RevocationListener = QueuesListener
"""Called with a topic, and those of this member's queues that are about to go to others."""


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


class Revocations(QueueWatch):
    """Listeners of consumers of `group` that are told of queues before these go, and have `seconds` then."""

    def __init__(self, group: str, clock: LoopClock, seconds: float) -> None:
        super().__init__()
        self._group = group
        self._clock = clock
        self._seconds = seconds

    async def tell(self, queues: Sequence[MessageQueue], buffer: PrefetchBuffer) -> None:
        """Tell of `queues`, of which `buffer` hands nothing out meanwhile; returns when all are done."""
        told = {topic: [each for each in queues if each.topic == topic] for topic in self.topics}
        with buffer.without([each for mine in told.values() for each in mine]):
            for topic, mine in told.items():
                if mine:
                    await self._tell(topic, mine)

    async def _tell(self, topic: str, queues: list[MessageQueue]) -> None:
        try:
            await within(self._clock, self._seconds, self.notify(topic, queues))
        except CallTimeout:
            log.warning(
                "queues go before their listener is done",
                group=self._group,
                topic=topic,
                queues=[f"{each.broker_name}/{each.queue_id}" for each in queues],
                seconds=self._seconds,
            )
