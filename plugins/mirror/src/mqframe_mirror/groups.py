"""Brings the progress of consumer groups to the target, so that they go on there where they were.

Offsets of the source mean nothing at the target: each group is placed by the marks of the copies, on the
first message that it has not consumed (`rules.progress`). A group is only ever moved forward, and not at all
while it has members at the target.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from mqframe import MessageQueue
from mqframe.core.errors import MqframeError
from mqframe.log import get_logger
from mqframe_mirror.link import MirrorLink
from mqframe_mirror.reading import bounds, placed, told
from mqframe_mirror.rules.marks import mirror_group
from mqframe_mirror.rules.progress import Consumed, first_unconsumed
from mqframe_mirror.rules.topics import chosen_groups
from mqframe_mirror.topic import TopicMirror

log = get_logger("mirror")

AT_ONCE: Final = 16
"""Queues of the target that are looked at, at the same time."""


class GroupProgress:
    """Places groups at the target.

    `at`: where each stands, by group and queue; `active`: those that have members there.
    """

    def __init__(self, link: MirrorLink) -> None:
        self.at: dict[str, dict[MessageQueue, int]] = {}
        self.active: set[str] = set()
        self._link = link
        self._stopped: dict[tuple[str, MessageQueue], Consumed] = {}

    async def move(self, topics: Sequence[TopicMirror]) -> None:
        """Look how far the groups are at the source, and move them at the target.

        A group that fails is logged, and waits for the next time. Raises what calls raise that ask which
        groups there are.
        """
        link = self._link
        configs = await link.source.admin.groups.configs()
        own = {link.group, mirror_group(link.target.name, link.source.name)}
        chosen = chosen_groups(configs.keys() - own, link.settings.groups)
        there = set(await link.target.admin.groups.list()) if chosen else set()
        for group in chosen:
            try:
                if group not in there:
                    await link.target.admin.groups.create(configs[group])
                await self._move(group, topics)
            except MqframeError as problem:
                log.warning("group was not moved", group=group, problem=told(problem))

    async def _move(self, group: str, topics: Sequence[TopicMirror]) -> None:
        if (await self._link.target.admin.members.consumers(group)).connection_set:
            self.active.add(group)
            return
        self.active.discard(group)
        room = asyncio.Semaphore(AT_ONCE)
        for topic in topics:
            stats = await self._link.source.admin.groups.stats(group, topic.topic)
            consumed: dict[MessageQueue, dict[tuple[str, int], int]] = {}
            for lane in topic.lanes.values():
                found = stats.get(lane.queue)
                if found is not None and found.consumer_offset > 0:
                    by_lane = consumed.setdefault(lane.place.queue, {})
                    by_lane[lane.queue.broker_name, lane.queue.queue_id] = found.consumer_offset
            await asyncio.gather(
                *[self._move_queue(room, group, place, found) for place, found in consumed.items()]
            )

    async def _move_queue(
        self, room: asyncio.Semaphore, group: str, place: MessageQueue, consumed: Consumed
    ) -> None:
        # Where it stood before a message that it had not consumed, and has consumed none since, it stays.
        if self._stopped.get((group, place)) == consumed:
            return
        async with room:
            reader = self._link.target.reader(group)
            begin, end = await bounds(reader, place)
            committed = await reader.committed(place)
            at = max(begin, committed or 0)
            found = await self._first_unconsumed(place, at, end, consumed)
            # Whoever began meanwhile, and has committed, knows better.
            if found > at and await reader.committed(place) == committed:
                await reader.commit(place, found)
        if found < end:
            self._stopped[group, place] = consumed
        self.at.setdefault(group, {})[place] = max(found, at)

    async def _first_unconsumed(self, place: MessageQueue, begin: int, end: int, consumed: Consumed) -> int:
        async for each, _ in placed(self._link.target.puller, place, begin, end):
            if first_unconsumed((each,), self._link.source.name, consumed) is not None:
                return each.offset
        return end
