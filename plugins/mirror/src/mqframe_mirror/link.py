"""What all parts of a mirror share: its two sides, its settings, and a place at the target for each queue."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from mqframe import MessageQueue
from mqframe_mirror.rules.marks import mirror_group
from mqframe_mirror.settings import MirrorSettings
from mqframe_mirror.side import MirrorSide


class MirrorLink:
    """The way from `source` to `target`.

    `since_ms`: when the mirror began for the first time, ms since 1970; `brokers`: the target's broker for
    each of the source's.
    """

    def __init__(self, source: MirrorSide, target: MirrorSide, settings: MirrorSettings) -> None:
        self.source = source
        self.target = target
        self.settings = settings
        self._gates: dict[str, asyncio.Semaphore] = {}
        self.randomness = random.random
        self.since_ms = 0
        self.brokers: dict[str, str] = {}

    @property
    def clock(self) -> Any:
        """The clock of the clients."""
        return self.source.clock

    def gate(self, broker: str) -> asyncio.Semaphore:
        """Lets as many queues at once read, and send to `broker` of the target, as the settings say.

        Each has its own, so that one which is away holds up no others.
        """
        if broker not in self._gates:
            self._gates[broker] = asyncio.Semaphore(self.settings.queues_at_once)
        return self._gates[broker]

    @property
    def group(self) -> str:
        """The group by which brokers of both sides keep the mirror's progress. Once both have names."""
        return mirror_group(self.source.name, self.target.name)


class TargetQueue:
    """A queue of the target, and where in it what is under way may come to lie.

    `end`: so many messages it holds at least. Several queues of the source may be copied to it.
    """

    def __init__(self, queue: MessageQueue, end: int) -> None:
        self.queue = queue
        self.end = end
        self._floors: dict[MessageQueue, int] = {}

    @property
    def floor(self) -> int:
        """What is sent from now on, and what may be under way, lies here or behind."""
        return min(self._floors.values(), default=self.end)

    def floor_of(self, lane: MessageQueue) -> int:
        """The same, of what comes from the source's queue `lane`."""
        return self._floors.get(lane, self.end)

    def sending(self, lane: MessageQueue) -> None:
        """A request with messages of `lane` leaves now."""
        self._floors.setdefault(lane, self.end)

    def sent(self, lane: MessageQueue, end: int = 0) -> None:
        """What became of that request is known; the queue goes to `end` at least."""
        self._floors.pop(lane, None)
        self.end = max(self.end, end)
