"""Administration: a topic leaves a broker for others (docs/howto/drain.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_WRITE
from mqframe.core.errors import FixError, RouteError
from mqframe_admin.client.brokers import AsyncBrokerAdmin
from mqframe_admin.client.calls import AdminCalls
from mqframe_admin.client.groups import AsyncGroupAdmin
from mqframe_admin.client.topics import AsyncTopicAdmin, topic_request
from mqframe_admin.rules.lag import lag_of
from mqframe_admin.rules.topic_move import MoveState, TopicMove, at_target, check_targets


class AsyncTopicMoveAdmin:
    """A move in two steps, with a wait between them. Each may be repeated, and asks what every broker of
    RocketMQ answers."""

    def __init__(
        self, calls: AdminCalls, topics: AsyncTopicAdmin, groups: AsyncGroupAdmin, brokers: AsyncBrokerAdmin
    ) -> None:
        self._calls = calls
        self._topics = topics
        self._groups = groups
        self._brokers = brokers

    async def begin(self, topic: str, source: str, targets: Sequence[str]) -> TopicMove:
        """Give `topic` to the brokers `targets`, as `source` has it, and have producers leave that.

        A target that has the topic keeps its queues. Producers know of it with their next look at the route
        (30 s); a fixed queue list of the topic changes at once. Raises `FixError` for a broker that is not
        registered, or has no such topic.
        """
        masters = await self._calls.masters()
        unknown = [name for name in (source, *targets) if name not in masters]
        if unknown:
            raise FixError(f"no master of {', '.join(unknown)} is registered; known: {', '.join(masters)}")
        configs = await self._configs(topic)
        here = configs.get(source)
        if here is None or not here.perm:
            raise FixError(f"topic {topic} is not at broker {source}; it is at: {_listed(configs)}")
        check_targets(topic, source, {name: configs.get(name) for name in targets})
        for name in dict.fromkeys(targets):
            made = at_target(here, configs.get(name))
            if made != configs.get(name):
                await self._set(masters[name], made, is_new=name not in configs)
        listed = await self._topics.order_config(topic)
        if listed:
            made_there = await self._configs(topic)
            queues = {name: made_there[name].write_queue_nums for name in targets if name in made_there}
            kept = {name: count for name, count in listed.items() if name != source}
            if kept | queues != listed:
                await self._topics.set_order_config(topic, kept | queues)
        if here.perm & PERM_WRITE:
            await self._set(masters[source], replace(here, perm=here.perm & ~PERM_WRITE))
        return await self.look(topic, source)

    async def look(self, topic: str, source: str, groups: Sequence[str] | None = None) -> TopicMove:
        """How far it is. `groups`: whose progress counts, all of the topic by default."""
        configs = await self._configs(topic)
        others = {name: each.write_queue_nums for name, each in configs.items() if name != source}
        here = configs.get(source)
        if here is None or not here.perm:
            return TopicMove(topic, source, others, 0, {}, 0, 0)
        names = await self._topics.groups(topic) if groups is None else groups
        stats, drain = await asyncio.gather(self._topics.stats(topic), self._brokers.drained(source))
        progress = await asyncio.gather(*[self._groups.stats(name, topic) for name in names])
        left = {
            name: sum(lag_of(each) for queue, each in found.items() if queue.broker_name == source)
            for name, found in zip(names, progress, strict=True)
        }
        held = [each for queue, each in stats.items() if queue.broker_name == source]
        messages = sum(each.max_offset - each.min_offset for each in held)
        waiting = drain.delayed + (drain.half or 0)
        return TopicMove(topic, source, others, here.perm, left, messages, waiting)

    async def finish(
        self, topic: str, source: str, groups: Sequence[str] | None = None, *, force: bool = False
    ) -> TopicMove:
        """Have consumers leave `source`, too. Messages that were consumed go there at their age, as ever.

        Raises `FixError` while producers may write there, or, unless `force`, something would be lost by it;
        it says what. Done before, it does nothing.
        """
        move = await self.look(topic, source, groups)
        if move.state is MoveState.HERE:
            raise FixError(f"topic {topic}: producers still write to {source}; begin the move first")
        if move.state is MoveState.LEAVING and not force:
            raise FixError(f"topic {topic} cannot leave {source} yet: {'; '.join(move.objections)}")
        here = (await self._configs(topic)).get(source)
        if here is None or not here.perm:
            return move
        address = (await self._calls.masters(broker=source))[source]
        before = await self._end(topic, source)
        await self._set(address, replace(here, perm=0))
        if not force and await self._end(topic, source) > before:
            await self._set(address, here)
            raise FixError(f"topic {topic}: messages came to {source} meanwhile; wait, and finish again")
        return await self.look(topic, source, groups)

    async def _end(self, topic: str, source: str) -> int:
        """How many messages ever came to `topic` at `source`."""
        stats = await self._topics.stats(topic)
        return sum(each.max_offset for queue, each in stats.items() if queue.broker_name == source)

    async def _configs(self, topic: str) -> dict[str, TopicConfig]:
        try:
            return await self._topics.config(topic)
        except RouteError as problem:
            raise FixError(f"topic {topic} is at no broker: {problem}") from None

    async def _set(self, address: str, config: TopicConfig, *, is_new: bool = False) -> None:
        request = topic_request(config)
        if is_new and config.attributes:
            changes = [f"+{name.removeprefix('+')}={value}" for name, value in config.attributes.items()]
            request = replace(request, attributes=",".join(changes))
        await self._calls.call(address, request)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
