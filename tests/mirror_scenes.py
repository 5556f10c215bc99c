"""Two clusters in this process, on one clock that the tests move, with mirrors between them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mqframe_mirror import ClusterSettings, Mark, Mirror, MirrorSettings, mark_of
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.manual_clock import ManualClock

from mqframe import Message, MessageQueue, ReceivedMessage

TOKYO, BERLIN = "tokyo", "berlin"


class MirrorScene:
    """The clusters `tokyo` and `berlin`, each with brokers of its own, on `clock`.

    `topics`: those of tokyo, with the queues of each broker; `brokers`: how many each cluster has. Mirrors
    that were begun are stopped with the scene.
    """

    def __init__(
        self, topics: Mapping[str, int] | None = None, *, brokers: tuple[int, int] = (1, 1), **options: Any
    ) -> None:
        self.clock = ManualClock()
        self.tokyo = ClusterScene(brokers[0], topics=topics or {"orders": 2}, clock=self.clock, **options)
        self.berlin = ClusterScene(brokers[1], clock=self.clock, **options)
        self.finish = self.tokyo.finish
        self.pass_time = self.tokyo.pass_time
        self.until = self.tokyo.until
        self.mirrors: list[Mirror] = []

    async def __aenter__(self) -> MirrorScene:
        await self.tokyo.start()
        await self.berlin.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for mirror in list(self.mirrors):
            await self.stop(mirror)
        await self.berlin.stop()
        await self.tokyo.stop()

    def settings(self, *, back: bool = False, **said: Any) -> MirrorSettings:
        """From tokyo to berlin, or `back`; topics are `orders` unless they are `said`."""
        ends = [
            ClusterSettings(nameserver=cluster.nameserver, name=name)
            for cluster, name in ((self.tokyo, TOKYO), (self.berlin, BERLIN))
        ]
        source, target = reversed(ends) if back else ends
        return MirrorSettings(**{"source": source, "target": target, "topics": ["orders"], **said})

    async def begin(self, *, back: bool = False, **said: Any) -> Mirror:
        """A mirror that runs."""
        mirror = Mirror(self.settings(back=back, **said), clock=self.clock)
        self.mirrors.append(mirror)
        await self.finish(mirror.start())
        return mirror

    async def stop(self, mirror: Mirror) -> None:
        """End a mirror in good order."""
        self.mirrors.remove(mirror)
        await self.finish(mirror.stop())

    async def kill(self, mirror: Mirror) -> None:
        """End a mirror as a killed process ends."""
        self.mirrors.remove(mirror)
        await self.finish(mirror.kill())

    async def copied(self, mirror: Mirror) -> None:
        """Until all that is there has been copied."""
        source = self.tokyo if mirror.source.name == TOKYO else self.berlin

        def is_copied() -> bool:
            return mirror.caught_up and all(
                lane.position == _end(source, lane.queue)
                for topic in mirror.topics.values()
                for lane in topic.lanes.values()
            )

        await self.until(is_copied, 600.0)

    async def copy_once(self, *, back: bool = False, **said: Any) -> None:
        """A mirror that begins, copies all that is there, and ends."""
        mirror = await self.begin(back=back, **said)
        await self.copied(mirror)
        await self.stop(mirror)


def _end(cluster: ClusterScene, queue: MessageQueue) -> int:
    broker = cluster.cluster.brokers[ord(queue.broker_name[-1]) - ord("a")]
    return broker.store.queues.max_offset(queue.topic, queue.queue_id)


def marks(messages: list[ReceivedMessage]) -> list[Mark]:
    """The marks of messages, all of which are copies."""
    found = [mark_of(each.properties) for each in messages]
    assert None not in found
    return [each for each in found if each is not None]


def message(body: bytes, topic: str = "orders", **said: Any) -> Message:
    """A message to send."""
    return Message(topic, body, **said)


class Mortal:
    """Lets `mirror` die at its `step`-th call of a broker from now on: before it, or with its answer.

    `dead` is set then, and the call never ends; `kill` the mirror after that.
    """

    CALLS = ("pull", "pull_raw", "committed", "commit", "max_offset", "send_encoded")

    def __init__(self, mirror: Mirror, step: int, chance: random.Random) -> None:
        self.dead = asyncio.Event()
        self._left = step
        self._after = chance.random() < 0.5
        for side in (mirror.source, mirror.target):
            for part in (side.puller, side.producer):
                for name in self.CALLS:
                    if hasattr(part, name):
                        setattr(part, name, self._wrapped(getattr(part, name)))

    def _wrapped(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def counted(*arguments: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._after:
                await self._die()
            answer = await call(*arguments, **named)
            if self._left <= 0:
                await self._die()
            return answer

        return counted

    async def _die(self) -> None:
        self.dead.set()
        await asyncio.Event().wait()
