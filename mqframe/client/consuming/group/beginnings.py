"""Where a group begins that is new to a topic."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping

from mqframe.client.consuming.group.offsets import AskedQueueOffsets, RoutedCalls
from mqframe.core.consuming.consume_rules import Ask, ConsumeFrom
from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.log import get_logger

log = get_logger("client")


class Beginnings:
    """The offsets at which a group begins in topics of which it has no offset at all.

    They are looked for once for each topic, and for all its queues: at the start of a member before it joins,
    so that members that start together find the same, and none takes a queue that was added later, to a topic
    that the group knows or that was made after the member started, for one that is to begin at its end.

    `read`: the offset that is stored for the group, `None` when there is none; `begin`: where new groups
    begin, and the ms since 1970 that ConsumeFrom.TIMESTAMP begins at. All methods belong to the loop.
    """

    def __init__(
        self,
        routes: RoutedCalls,
        read: Callable[[MessageQueue], Awaitable[int | None]],
        begin: tuple[ConsumeFrom, int],
    ) -> None:
        self._routes = routes
        self._ends = AskedQueueOffsets(routes)
        self._read = read
        self.where, self._start_ms = begin
        self._offsets: dict[MessageQueue, int] = {}
        self._looked: set[str] = set()
        self._one_look = asyncio.Lock()

    def get(self, queue: MessageQueue) -> int | None:
        """Where the group began in `queue`; `None` where it was no new group, or is not known to be one."""
        return self._offsets.get(queue)

    async def find(self, topics: Iterable[str], *, late: bool = False) -> Mapping[MessageQueue, int]:
        """The offsets of those of `topics` that the group is new to and that were not looked at before.

        `late`: they were made since the member joined, so that the end is their first message. Nothing where
        groups begin at the first message. Where brokers cannot be asked it counts as known.
        """
        found: dict[MessageQueue, int] = {}
        async with self._one_look:  # whoever comes meanwhile must not take what is looked for as known
            for topic in topics:
                if topic in self._looked or topic.startswith(RETRY_PREFIX) or self.where is ConsumeFrom.FIRST:
                    continue
                self._looked.add(topic)
                try:
                    found |= await self._of(topic, Ask.MIN if late else Ask.MAX)
                except MqframeError as problem:
                    log.info("whether the group is new is not known", topic=topic, reason=str(problem))
            self._offsets |= found
        return found

    async def _of(self, topic: str, end: Ask) -> dict[MessageQueue, int]:
        queues = (await self._routes.route(topic)).read_queues()
        # Of most groups the first queue says that they are not new.
        for some in (queues[:1], queues[1:]):
            stored = await asyncio.gather(*map(self._read, some))
            if any(offset is not None for offset in stored):
                return {}
        ask = end if self.where is ConsumeFrom.LAST else Ask.TIME
        return dict(
            zip(queues, await asyncio.gather(*(self.at(queue, ask) for queue in queues)), strict=True)
        )

    async def at(self, queue: MessageQueue, ask: Ask) -> int:
        """What the broker of `queue` answers to `ask`. Raises what a call raises."""
        if ask is Ask.MAX:
            return await self._ends.max_offset(queue)
        if ask is Ask.MIN:
            return await self._ends.min_offset(queue)
        return await self._ends.offset_at(queue, self._start_ms)
