"""Brings the progress of consumer groups to the target, so that they go on there where they were.

Offsets of the source mean nothing at the target: each group is placed by the marks of the copies, on the
first message that it has not consumed (`rules.progress`). A group is only ever moved forward, and not at all
while it has members at the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqframe_mirror.link import MirrorLink
from mqframe_mirror.reading import bounds, placed, told
from mqframe_mirror.rules.progress import Consumed, first_unconsumed
from mqframe_mirror.rules.topics import chosen_groups
from mqframe_mirror.topic import TopicMirror

from mqframe import MessageQueue
from mqframe.core.errors import MqframeError
from mqframe.core.messages.names import is_system_group
from mqframe.log import get_logger

log = get_logger("mirror")


class GroupProgress:
    """Places groups at the target.

    `at`: where each stands, by group and queue; `active`: those that have members there.
    """

    def __init__(self, link: MirrorLink) -> None:
        self.at: dict[str, dict[MessageQueue, int]] = {}
        self.active: set[str] = set()
        self._link = link

    async def move(self, topics: Sequence[TopicMirror]) -> None:
        """Look how far the groups are at the source, and move them at the target.

        A group that fails is logged, and waits for the next time. Raises what calls raise that ask which
        groups there are.
        """
        link = self._link
        configs = await link.source.admin.groups.configs()
        own = {group for group in configs if is_system_group(group) or group == link.group}
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
        for topic in topics:
            stats = await self._link.source.admin.groups.stats(group, topic.topic)
            consumed = {
                (queue.broker_name, queue.queue_id): found.consumer_offset
                for queue, found in stats.items()
                if found.consumer_offset > 0
            }
            if consumed:
                for place in list(topic.targets):
                    await self._move_queue(group, place, consumed)

    async def _move_queue(self, group: str, place: MessageQueue, consumed: Consumed) -> None:
        reader = self._link.target.reader(group)
        begin, end = await bounds(reader, place)
        committed = await reader.committed(place)
        at = max(begin, committed or 0)
        found = await self._first_unconsumed(place, at, end, consumed)
        # Whoever began meanwhile, and has committed, knows better.
        if found > at and await reader.committed(place) == committed:
            await reader.commit(place, found)
        self.at.setdefault(group, {})[place] = max(found, at)

    async def _first_unconsumed(
        self, place: MessageQueue, begin: int, end: int, consumed: Mapping[tuple[str, int], int]
    ) -> int:
        async for each, _ in placed(self._link.target.puller, place, begin, end):
            if first_unconsumed((each,), self._link.source.name, consumed) is not None:
                return each.offset
        return end
