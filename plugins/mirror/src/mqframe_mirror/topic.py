"""The copying of one topic: a lane for each of its queues, and a topic at the target with room for them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import suppress
from typing import Final

from mqframe import MessageQueue
from mqframe.core.cluster.order_config import TYPE_ATTRIBUTE
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_READ, PERM_WRITE, ResponseCode
from mqframe.core.errors import AnswerError, RetryError, RouteError
from mqframe_mirror.lane import MirrorLane
from mqframe_mirror.link import MirrorLink, TargetQueue
from mqframe_mirror.rules.queues import place_of, queues_needed
from mqframe_mirror.starting import find_positions

KNOWN_LOOKS: Final = 25
KNOWN_SECONDS: Final = 0.2


class TopicMirror:
    """Copies `topic` to the topic `name` of the target."""

    def __init__(self, link: MirrorLink, topic: str, name: str) -> None:
        self.topic = topic
        self.name = name
        self.lanes: dict[MessageQueue, MirrorLane] = {}
        self.targets: dict[MessageQueue, TargetQueue] = {}
        self._link = link

    async def refresh(self) -> None:
        """Begin to copy queues that were added, and end it for those that are no more.

        Raises what calls raise; what was begun goes on.
        """
        there = await self._link.source.puller.queues(self.topic)
        brokers = {queue.broker_name for queue in there}
        # Queues of a broker that is away come back with it.
        gone = [each for each in self.lanes if each.broker_name in brokers and each not in there]
        await self.end(gone)
        known = self._link.brokers
        new = [queue for queue in there if queue not in self.lanes and queue.broker_name in known]
        if new:
            await self._begin(new)

    async def _begin(self, queues: Iterable[MessageQueue]) -> None:
        places = {queue: place_of(queue, self._link.brokers, self.name) for queue in queues}
        await self._make_room(queues_needed(places.values()))
        positions, targets = await find_positions(self._link, places)
        for place, found in targets.items():
            self.targets.setdefault(place, found)
        for queue, position in positions.items():
            lane = MirrorLane(self._link, queue, self.targets[places[queue]], position, self._position)
            self.lanes[queue] = lane
            lane.start()

    async def _position(self, queue: MessageQueue) -> int:
        place = place_of(queue, self._link.brokers, self.name)
        positions, _ = await find_positions(self._link, {queue: place})
        return positions[queue]

    async def _make_room(self, needed: Mapping[str, int]) -> None:
        """Have the target's brokers have the topic, with as many queues as they need at least."""
        target = self._link.target
        there = await _configs(target.admin.topics.config(self.name))
        short = {
            broker: there.get(broker)
            for broker, count in needed.items()
            if broker not in there
            or min(there[broker].read_queue_nums, there[broker].write_queue_nums) < count
        }
        if short:
            model = next(iter((await _configs(self._link.source.admin.topics.config(self.topic))).values()))
            for broker, found in short.items():
                await self._make(broker, needed[broker], found or model, new=found is None)
        await self._until_known(needed)

    async def _until_known(self, needed: Mapping[str, int]) -> None:
        """Until name servers know the queues, which brokers tell them when they are made."""
        for _ in range(KNOWN_LOOKS):
            with suppress(RouteError):
                route = await self._link.target.puller.queues(self.name)
                counts = Counter(queue.broker_name for queue in route)
                if all(counts[broker] >= count for broker, count in needed.items()):
                    return
            await self._link.clock.sleep(KNOWN_SECONDS)
        raise RetryError(f"name servers of the target do not know all queues of topic {self.name} yet")

    async def _make(self, broker: str, count: int, model: TopicConfig, *, new: bool) -> None:
        kind = model.attributes.get(TYPE_ATTRIBUTE)
        await self._link.target.admin.topics.create(
            self.name,
            read_queues=count if new else max(count, model.read_queue_nums),
            write_queues=count if new else max(count, model.write_queue_nums),
            # A topic that may only be read at the source is written here all the same.
            perm=PERM_READ | PERM_WRITE if new else model.perm,
            order=model.order,
            attributes={TYPE_ATTRIBUTE: kind} if new and kind else None,
            broker=broker,
        )

    async def end(self, queues: Iterable[MessageQueue] | None = None) -> None:
        """Copy `queues` no more, or none at all; requests that are under way are waited for."""
        ended = [self.lanes.pop(queue) for queue in list(self.lanes if queues is None else queues)]
        await asyncio.gather(*[lane.stop() for lane in ended])

    def kill(self) -> None:
        """Copy no more, as if the process had ended."""
        for lane in self.lanes.values():
            lane.kill()


async def _configs(asked: Awaitable[dict[str, TopicConfig]]) -> dict[str, TopicConfig]:
    try:
        return await asked
    except RouteError:
        return {}
    except AnswerError as refused:
        if refused.code != ResponseCode.TOPIC_NOT_EXIST:
            raise
        return {}
