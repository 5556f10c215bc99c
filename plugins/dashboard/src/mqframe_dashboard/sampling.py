"""Rates of topics over time: what they hold, looked at again and again, and kept in memory."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Final

import attrs
from mqframe_admin.bodies import TopicOffset

from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.log import get_logger
from mqframe.trouble import Trouble
from mqframe_dashboard.asking import Asking

LOOKS_KEPT: Final = 60
TOPICS_MAX: Final = 500
"""Topics that are looked at, the first by name."""
log = get_logger("dashboard")


@attrs.frozen
class Sample:
    """What a topic held at `at` (s): messages ever stored (`end`), and those still there."""

    at: float
    end: int
    held: int
    queues: int


class Samples:
    """The last looks at all topics. `interval`: seconds between two; `clock`: monotonic seconds."""

    def __init__(self, asking: Asking, interval: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._asking = asking
        self._interval = interval
        self._clock = clock
        self._kept: dict[str, deque[Sample]] = {}
        self._looked: float | None = None
        self._turn = asyncio.Lock()

    async def run(self) -> None:
        """Look for as long as it is not cancelled; a cluster that is away is asked again."""
        unsampled = Trouble(log, self._clock)
        while True:
            try:
                await self.look()
            except MqframeError as problem:
                unsampled.note("rates were not sampled", kind=str(problem), problem=str(problem))
            else:
                unsampled.over("rates are sampled again")
            await asyncio.sleep(self._interval)

    async def fresh(self) -> None:
        """Look unless that was done within the interval. Raises what a call raises."""
        async with self._turn:
            if self._looked is None or self._clock() - self._looked >= self._interval:
                await self._look()

    async def look(self) -> None:
        """Look at all topics now. Raises what a call raises; a topic that fails is left out."""
        async with self._turn:
            await self._look()

    async def _look(self) -> None:
        admin = self._asking.admin
        topics = (await self._asking.ask(admin.topics.list))[:TOPICS_MAX]
        found = await self._asking.ask_each(admin.topics.stats, topics)
        at = self._looked = self._clock()
        for gone in self._kept.keys() - set(topics):
            del self._kept[gone]
        for topic, stats in found.items():
            if not isinstance(stats, MqframeError):
                self._kept.setdefault(topic, deque(maxlen=LOOKS_KEPT)).append(_sample(at, stats))

    def topics(self) -> list[str]:
        """Topics that were seen, sorted."""
        return sorted(self._kept)

    def last(self, topic: str) -> Sample | None:
        """The newest look at `topic`."""
        kept = self._kept.get(topic)
        return kept[-1] if kept else None

    def span(self, topic: str) -> float:
        """How long ago the oldest look at `topic` was when the newest was made, s."""
        kept = self._kept.get(topic)
        return kept[-1].at - kept[0].at if kept else 0.0

    def rates(self, topic: str) -> list[float]:
        """Messages a second stored between each two looks, the oldest first; 0 where it was made anew."""
        kept = list(self._kept.get(topic, ()))
        return [
            round(max(0, new.end - old.end) / (new.at - old.at), 1)
            for old, new in pairwise(kept)
            if new.at > old.at
        ]


def _sample(at: float, stats: dict[MessageQueue, TopicOffset]) -> Sample:
    return Sample(
        at,
        sum(each.max_offset for each in stats.values()),
        sum(each.max_offset - each.min_offset for each in stats.values()),
        len(stats),
    )
