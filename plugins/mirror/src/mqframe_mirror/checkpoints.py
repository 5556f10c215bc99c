"""Where a mirror's progress is kept: as consumer offsets of its group, at both clusters.

At the source each queue has the offset before which all is at the target. At the target each queue has an
offset from which on all lies that could have arrived since: what a start has to look through. That one is
`margin_seconds` old, as a broker that was killed comes back with offsets that are some seconds old.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final

from mqframe import AsyncPuller, MessageQueue
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, MqframeError
from mqframe.log import get_logger
from mqframe_mirror.link import MirrorLink
from mqframe_mirror.reading import told
from mqframe_mirror.topic import TopicMirror

log = get_logger("mirror")

AGAIN_SECONDS: Final = 30.0
"""So often an offset is committed that has not changed, for brokers that lost it."""
AT_ONCE: Final = 32


class MirrorCheckpoints:
    """Commits how far lanes are. Failures are logged, and mended by the next time."""

    def __init__(self, link: MirrorLink) -> None:
        self._link = link
        self._committed: dict[tuple[str, MessageQueue], tuple[int, float]] = {}
        self._floors: dict[MessageQueue, deque[tuple[float, int]]] = {}

    async def commit(self, topics: Iterable[TopicMirror]) -> None:
        """Commit what has changed of `topics`."""
        topics, now = list(topics), self._link.clock.monotonic()
        # First the floors: whatever lies behind a position is sent later than its floor was noted.
        floors = {
            place: floor
            for topic in topics
            for place, target in topic.targets.items()
            if (floor := self._older(place, target.floor, now)) is not None
        }
        positions = {queue: lane.position for topic in topics for queue, lane in topic.lanes.items()}
        await self._all(self._link.source.puller, positions, "source", now)
        await self._all(self._link.target.puller, floors, "target", now)

    def _older(self, place: MessageQueue, floor: int, now: float) -> int | None:
        """What the floor of `place` was `margin_seconds` ago; `None` where nobody knows."""
        noted = self._floors.setdefault(place, deque())
        noted.append((now, floor))
        found = None
        while noted and noted[0][0] <= now - self._link.settings.margin_seconds:
            found = noted.popleft()
        if found is None:
            return None
        noted.appendleft(found)
        return found[1]

    async def _all(
        self, puller: AsyncPuller, offsets: dict[MessageQueue, int], side: str, now: float
    ) -> None:
        room = asyncio.Semaphore(AT_ONCE)

        async def one(queue: MessageQueue, offset: int) -> None:
            known, at = self._committed.get((side, queue), (-1, 0.0))
            if known == offset and now - at < AGAIN_SECONDS:
                return
            async with room:
                if await self._commit(puller, queue, offset, side):
                    self._committed[side, queue] = offset, now

        await asyncio.gather(*[one(queue, offset) for queue, offset in offsets.items()])

    async def _commit(self, puller: AsyncPuller, queue: MessageQueue, offset: int, side: str) -> bool:
        try:
            await puller.commit(queue, offset)
        except AnswerError as refused:
            if refused.code != ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST:
                return self._failed(queue, side, refused)
            return await self._known_group(puller, queue, offset, side)
        except MqframeError as problem:
            return self._failed(queue, side, problem)
        return True

    async def _known_group(self, puller: AsyncPuller, queue: MessageQueue, offset: int, side: str) -> bool:
        """The same at a broker that has not heard of the group yet."""
        admin = (self._link.source if side == "source" else self._link.target).admin
        try:
            await admin.groups.create(puller.group, broker=queue.broker_name)
            await puller.commit(queue, offset)
        except MqframeError as problem:
            return self._failed(queue, side, problem)
        return True

    def _failed(self, queue: MessageQueue, side: str, problem: MqframeError) -> bool:
        log.warning("progress was not committed", queue=queue, side=side, problem=told(problem))
        return False
