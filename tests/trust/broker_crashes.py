"""Crash images of a whole broker: tables, progress, delayed and transactional messages, pops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from popping import pop_request, popped
from trust.broker_life import (
    FOREVER,
    GROUP,
    POPPING,
    QUEUES,
    BrokerLife,
    Comes,
    GroupMade,
    MayCommit,
    Now,
    Popping,
    Sent,
    TopicMade,
    cluster_at,
    one_thread,
    small_broker,
)
from trust.checks import Broken, read_all
from trust.crashes import lay_out
from trust.disk import Disk, Event, Image, Noted
from trust.seam import Seam
from trust.series import Case, Cases

from mqframe.core.requests.consumers import QueryConsumerOffset
from mqframe.core.requests.messages import SendMessageV2
from mqframe.net.client import Client

STEPS: Final = 120
MOMENTS: Final = 8
IMAGES_OF_A_MOMENT: Final = 2
NAME: Final = "broker-a"
_POPS: Final = 60
_DELIVERY_SECONDS: Final = 40


class BrokerPromises:
    """What a broker has promised by a moment of its life."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.comes: list[Comes] = []
        self.topics: list[str] = []
        self.groups: list[str] = []
        self.may_commit: dict[tuple[str, int], int] = {}
        self.acknowledged: set[bytes] = set()
        self.now_ms = 0

    def take(self, what: Any) -> None:
        if isinstance(what, Sent):
            self.sent.append(what)
        elif isinstance(what, Comes):
            self.comes.append(what)
        elif isinstance(what, TopicMade):
            self.topics.append(what.topic)
        elif isinstance(what, GroupMade):
            self.groups.append(what.group)
        elif isinstance(what, MayCommit):
            place = what.topic, what.queue_id
            self.may_commit[place] = max(self.may_commit.get(place, 0), what.offset)
        elif isinstance(what, Popping):
            self.acknowledged.add(what.body)
        elif isinstance(what, Now):
            self.now_ms = what.ms


def record(directory: Path, seed: int, life: type[BrokerLife] = BrokerLife) -> list[Event]:
    """Live the life of this seed below `directory`."""
    root = directory / NAME
    root.mkdir(parents=True)
    events: list[Event] = []

    async def live() -> None:
        seam = Seam(root, events.append)
        with one_thread(), seam.in_force():
            async with cluster_at(directory, seed, ManualClock()) as cluster:
                await life(cluster, seed, seam.note).run(STEPS)

    asyncio.run(live())
    return events


def broker_images(directory: Path, seed: int, life: type[BrokerLife] = BrokerLife) -> Cases:
    """What a loss of power may leave of brokers, from the life of `seed` on, without an end."""
    for number in count(seed):
        with TemporaryDirectory(dir=directory) as name:
            events = record(Path(name), number, life)
        chance = Random(f"broker moments {number}")
        moments = set(chance.sample(range(len(events)), MOMENTS))
        disk, promises, at = Disk(), BrokerPromises(), 0
        for place, event in enumerate(events):
            if place in moments:
                for _ in range(IMAGES_OF_A_MOMENT):
                    image = disk.left(chance)
                    yield Case(number, f"image {at} ({image.how})", _check(number, image, promises))
                    at += 1
            disk.take(event)
            if isinstance(event, Noted):
                promises.take(event.what)


def _check(seed: int, image: Image, promises: BrokerPromises) -> Callable[[Path], None]:
    def run(place: Path) -> None:
        lay_out(image, place / NAME)
        with one_thread():
            asyncio.run(BrokerCheck(seed, promises).run(place))

    return run


class BrokerCheck:
    """Starts a broker on what is left, and compares it with what was promised."""

    def __init__(self, seed: int, promises: BrokerPromises) -> None:
        self._seed = seed
        self._sync = small_broker(seed)["flush"] == "SYNC_FLUSH"
        self._promises = promises
        self._clock = ManualClock(promises.now_ms + 1000 if promises.now_ms else 1_700_000_000_000)

    async def run(self, place: Path) -> None:
        """Raises `Broken`."""
        cluster = cluster_at(place, self._seed, self._clock)
        try:
            await cluster.start()
        except Exception as problem:
            with suppress(Exception):
                await cluster.stop()
            raise Broken("the broker does not start", f"{type(problem).__name__}: {problem}") from problem
        client = Client(self._clock)
        try:
            await self._all(cluster, client)
        finally:
            await client.close()
            await cluster.stop()

    async def _all(self, cluster: AsyncCluster, client: Client) -> None:
        self._topics(cluster)
        self._sent(cluster)
        await self._new_messages(cluster, client)
        if self._sync:
            await self._delivered(cluster)
            await self._pops(cluster, client)

    def _topics(self, cluster: AsyncCluster) -> None:
        known: Any = cluster.broker._state.topics  # type: ignore[attr-defined]
        for topic in self._promises.topics:
            if topic not in known:
                raise Broken("a topic is lost", topic)
        groups: Any = cluster.broker._state.groups  # type: ignore[attr-defined]
        for group in self._promises.groups:
            if group not in groups:
                raise Broken("a group is lost", group)

    def _sent(self, cluster: AsyncCluster) -> None:
        if not self._sync:
            return
        for sent in self._promises.sent:
            found = cluster.broker.store.reads.get(*sent[:3], 1)
            if not any(sent.body in bytes(part) for part in found.parts):
                raise Broken("a message that was acknowledged is lost", f"{sent[:3]}: {found.status.name}")

    async def _new_messages(self, cluster: AsyncCluster, client: Client) -> None:
        store, address = cluster.broker.store, cluster.broker.address
        for place in self._promises.may_commit:
            query = QueryConsumerOffset(
                consumer_group=GROUP, topic=place[0], queue_id=place[1], set_zero_if_not_found=False
            )
            answer = await client.invoke(address, query, timeout=FOREVER)
            offset = int((answer.ext or {})["offset"]) if answer.code == 0 else 0
            if offset > store.queues.max_offset(*place):
                raise Broken(
                    "a group is beyond the end", f"{place}: {offset} of {store.queues.max_offset(*place)}"
                )
            if offset > self._promises.may_commit[place]:
                raise Broken("a group is where it never was", f"{place}: {offset}")
            body = f"new for {place}".encode()
            request = SendMessageV2(
                producer_group="p", topic=place[0], default_topic="TBW102", default_topic_queue_nums=4,
                queue_id=place[1], sys_flag=0, born_timestamp=self._clock.now_ms(), flag=0, properties="",
            )  # fmt: skip
            sent = await client.invoke(address, request, body, timeout=FOREVER)
            if sent.code != 0:
                raise Broken("a new message is refused", f"{place}: {sent.code} {sent.remark}")
            await self._clock.aadvance(0.1)
            if body not in [message.body for message in read_all(store, place, offset)]:
                raise Broken("a new message is not received", f"{place} from {offset}")

    async def _delivered(self, cluster: AsyncCluster) -> None:
        for _ in range(_DELIVERY_SECONDS):
            await self._clock.aadvance(1)
        there = {
            (topic, message.body)
            for topic in self._promises.topics
            for queue_id in range(QUEUES)
            for message in read_all(cluster.broker.store, (topic, queue_id))
        }
        for comes in self._promises.comes:
            if comes not in there:
                raise Broken("a message never comes", f"{comes.topic}: {comes.body[:12]!r}")

    async def _pops(self, cluster: AsyncCluster, client: Client) -> None:
        wanted = {comes.body for comes in self._promises.comes if comes.topic == "pops"}
        wanted -= self._promises.acknowledged
        for _ in range(_POPS):
            if not wanted:
                return
            request = pop_request("pops", consumer_group=POPPING)
            answer = await client.invoke(cluster.broker.address, request, timeout=FOREVER)
            found = popped(answer, "pops", POPPING)
            for one in found:
                wanted.discard(one.body)
                await client.invoke(cluster.broker.address, one.ack(), timeout=FOREVER)
            if not found:
                await self._clock.aadvance(10)
        raise Broken("a message is never popped", repr(sorted(body[:12] for body in wanted)))
