"""The prefetch buffer of a lite pull consumer: polls take messages out of the process queues of its queues.

Source: DefaultLitePullConsumerImpl.java (consumeRequestCache, poll).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from mqframe.core.consuming.assigned_queue import AssignedQueue
from mqframe.core.errors import CallTimeout
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.net.clock import LoopClock, within


class PrefetchBuffer:
    """Queues with messages take turns. All methods belong to the loop."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self._ready: dict[MessageQueue, AssignedQueue] = {}
        self._aside: dict[MessageQueue, AssignedQueue | None] = {}
        self._arrival = asyncio.Event()
        self._stopped = False

    def arrived(self, assigned: AssignedQueue) -> None:
        """Messages wait in the process queue of `assigned`."""
        if assigned.queue in self._aside:
            self._aside[assigned.queue] = assigned
            return
        self._ready[assigned.queue] = assigned
        self._arrival.set()

    async def poll(self, seconds: float, count_max: int) -> list[ReceivedMessage]:
        """Messages of one queue, as soon as there are some; empty after `seconds` without."""
        end = self._clock.monotonic() + seconds
        while not (messages := self._take(count_max)):
            left = end - self._clock.monotonic()
            if left <= 0 or self._stopped:
                break
            self._arrival.clear()
            try:
                await within(self._clock, left, self._arrival.wait())
            except CallTimeout:
                break
        return messages

    @contextmanager
    def without(self, queues: Iterable[MessageQueue]) -> Iterator[None]:
        """Hand nothing of `queues` out within the block."""
        aside = [queue for queue in queues if queue not in self._aside]
        self._aside.update((queue, self._ready.pop(queue, None)) for queue in aside)
        try:
            yield
        finally:
            for queue in aside:
                if (assigned := self._aside.pop(queue)) is not None:
                    self.arrived(assigned)

    def stop(self) -> None:
        """Let waiting polls return."""
        self._stopped = True
        self._arrival.set()

    def _take(self, count_max: int) -> list[ReceivedMessage]:
        while self._ready:
            queue = next(iter(self._ready))
            assigned = self._ready.pop(queue)
            # Empty after a seek, and when the queue was given up.
            messages = assigned.take(count_max)
            if assigned.held.message_count:
                self._ready[queue] = assigned  # behind the other queues
            if messages:
                assigned.held.last_consume = self._clock.monotonic()
                return messages
        return []
