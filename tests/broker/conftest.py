"""A broker and a plain client of the protocol, on a clock that only the test moves."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from thread_pools import at_rest

from mqframe.broker.due_task import DueTask
from mqframe.broker.sending.internal_writer import InternalWriter
from mqframe.broker.sending.redelivery import Redelivery
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.identity import Identity
from mqframe.broker.tables.in_force import InForce
from mqframe.broker.tables.left_out import LeftOut
from mqframe.broker.tables.live_settings import LiveSection, LiveSettings
from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData, ProducerData
from mqframe.core.consuming.offset_table import OffsetTable
from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.delay.rules import DelayRules
from mqframe.core.errors import StoreUnavailable
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.requests import Request
from mqframe.core.requests.consumers import HeartBeat, NotifyConsumerIdsChanged
from mqframe.core.requests.messages import PullMessage, SendMessageV2
from mqframe.core.requests.serving import Reply, serves
from mqframe.core.storage.record import decode_record, decode_records
from mqframe.core.storage.stored import Stored
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps
from mqframe.net.client import Client
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings


class Talker:
    """One connection to the broker. `notices`: groups that it was told to rebalance."""

    def __init__(self, cluster: AsyncCluster) -> None:
        self.cluster = cluster
        self.address = cluster.broker.address
        self.notices: list[str] = []
        self.client = Client(cluster.clock)
        self.client.serve(self)

    @serves(NotifyConsumerIdsChanged)
    def members_changed(self, fields: NotifyConsumerIdsChanged, call: Any) -> Reply:
        self.notices.append(fields.consumer_group)
        return Reply()

    def invoke(self, request: Request, body: bytes = b"", timeout: float = 3600.0) -> Any:
        return self.client.invoke(self.address, request, body, timeout=timeout)

    async def ok(self, request: Request, body: bytes = b"") -> Frame:
        answer: Frame = await self.invoke(request, body)
        assert answer.code == 0, f"{answer.code} {answer.remark}"
        return answer

    async def send(self, topic: str, body: bytes = b"body", properties: str = "", **fields: Any) -> Frame:
        answer: Frame = await self.invoke(send_request(topic, properties, **fields), body)
        return answer

    async def ok_send(self, topic: str, properties: str = "", **fields: Any) -> Frame:
        answer = await self.send(topic, properties=properties, **fields)
        assert answer.code == 0, f"{answer.code} {answer.remark}"
        return answer

    def pull(self, topic: str, offset: int = 0, **fields: Any) -> Any:
        return self.invoke(pull_request(topic, offset, **fields))

    async def beat(self, group: str = "g", *subscriptions: SubscriptionData, **fields: Any) -> Frame:
        data: list[ConsumerData] = []
        if group:
            consumer = {key: fields.pop(key) for key in ("message_model",) if key in fields}
            data = [ConsumerData(group_name=group, subscription_data_set=list(subscriptions), **consumer)]
        producers = [ProducerData(group_name=name) for name in fields.pop("producers", ())]
        beat = HeartbeatData(
            client_id=fields.pop("client_id", "c1"),
            consumer_data_set=data,
            producer_data_set=producers,
            **fields,
        )
        return await self.ok(HeartBeat(), dumps(beat))


def send_request(topic: str, properties: str = "", **fields: Any) -> SendMessageV2:
    """A send to queue 0, as the Java client makes it."""
    values: dict[str, Any] = {
        "producer_group": "p",
        "default_topic": "TBW102",
        "default_topic_queue_nums": 4,
        "queue_id": 0,
        "sys_flag": 0,
        "born_timestamp": 1_700_000_000_000,
        "flag": 0,
        "properties": properties,
    }
    return SendMessageV2(topic=topic, **(values | fields))


def pull_request(topic: str, offset: int = 0, **fields: Any) -> PullMessage:
    """A pull of queue 0 that brings its subscription along and waits for nothing."""
    values: dict[str, Any] = {
        "consumer_group": "g",
        "queue_id": 0,
        "max_msg_nums": 32,
        "sys_flag": 4,
        "commit_offset": 0,
        "suspend_timeout_millis": 15_000,
        "sub_version": 0,
        "subscription": "*",
    }
    return PullMessage(topic=topic, queue_offset=offset, **(values | fields))


class World:
    """A cluster on a manual clock, with topic `t` of two queues, and a client that talks to its broker."""

    def __init__(self, cluster: AsyncCluster, clock: ManualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.talkers: list[Talker] = []
        self.talker = self.join()

    @property
    def store(self) -> Any:
        return self.cluster.broker.store

    def join(self) -> Talker:
        """One more client, with a connection of its own."""
        talker = Talker(self.cluster)
        self.talkers.append(talker)
        return talker

    async def settle_loop(self) -> None:
        """Let everything come to its end that waits for no thread, without moving the clock."""
        for _ in range(200):
            await asyncio.sleep(0)

    async def settle(self) -> None:
        """Let everything under way come to its end, without moving the clock."""
        for _ in range(3):
            await self.clock.aadvance(0)
            await at_rest()


Scenario = Callable[[World], Any]


@pytest.fixture
def run():
    """Runs an async scenario against a new broker: `run(scenario, broker={…}, store={…})`."""

    def play(scenario: Scenario, **options: Any) -> None:
        assert inspect.iscoroutinefunction(scenario)

        async def whole() -> None:
            clock = ManualClock()
            async with AsyncCluster(clock=clock, **options) as cluster:
                await cluster.create_topic("t", 2)
                world = World(cluster, clock)
                try:
                    await scenario(world)
                finally:
                    for talker in world.talkers:
                        await talker.client.close()

        asyncio.run(whole())

    return play


S = TypeVar("S")


class LocalStore:
    """A broker's store and its writer, without the broker around them: what of a port many parts need."""

    def __init__(self, directory: Path, **options: Any) -> None:
        values = {"commit_log_file_bytes": 1 << 20, "queue_file_bytes": 20_000, "disk_limits": False}
        settings = StoreSettings(directory=directory, **(values | options))
        self.clock = ManualClock()
        self.store = MessageStore.open(settings, self.clock)
        self.delays = DelayRules(USUAL_DELAYS, self.clock.now_ms)
        identity = Identity(BrokerSettings(host="127.0.0.1"))
        self.writer = InternalWriter(self.store, self.delays, identity)
        self.left_out = LeftOut(self.clock, identity)
        self.redelivery = Redelivery(self.writer, self.left_out)
        self.identity = identity
        self.offsets = OffsetTable(self.clock)
        self.live = LiveSettings(BrokerSettings(), settings)
        self.in_force = InForce(self.live)
        self.directory = directory

    def settings(self, kind: type[S]) -> LiveSection[S]:
        """As of a `BrokerPort`."""
        return self.live.section(kind)

    def due_task(self, work: Callable[[], Awaitable[int | None]], name: str) -> DueTask:
        """As of a `BrokerPort`."""
        return DueTask(self.clock, work, name)

    def put(self, topic: str, body: bytes = b"body", queue_id: int = 0, **more: Any) -> Stored:
        """Store a message; keyword arguments in capitals are properties."""
        properties = {name: str(value) for name, value in more.items() if name.isupper()}
        rest = {name: value for name, value in more.items() if not name.isupper()}
        values = {"born_timestamp": self.clock.now_ms(), "heed_delay": False, **rest}
        stored = self.writer.put(topic, queue_id, body, properties, **values)
        self.store.dispatch.now()
        return stored

    def at(self, offset: int) -> ReceivedMessage:
        """The message that begins at log offset `offset`."""
        record = self.store.search.record_at(offset, unconfirmed=True)
        assert record is not None
        return decode_record(record)

    def messages(self, topic: str, queue_id: int = 0) -> list[ReceivedMessage]:
        """All messages of a queue, in order."""
        self.store.dispatch.now()
        found = self.store.reads.get(topic, queue_id, 0, 10_000, bytes_max=1 << 30)
        return [message for part in found.parts for message in decode_records(part)]

    def bodies(self, topic: str, queue_id: int = 0) -> list[bytes]:
        return [message.body for message in self.messages(topic, queue_id)]

    def take_only(self, count: int | None) -> None:
        """Have the store take `count` single messages more and refuse others; `None`: it takes all again."""
        if count is None:
            del self.store.writes.put
            return
        real, left = self.store.writes.put, iter(range(count))

        def put(incoming: Any) -> Stored:
            if next(left, None) is None:
                raise StoreUnavailable("the disk is full")
            return real(incoming)

        self.store.writes.put = put  # type: ignore[method-assign]


@pytest.fixture
def with_store(tmp_path: Path) -> Callable[..., None]:
    """Runs an async scenario on a `LocalStore` in a temporary folder; options are settings of the store."""

    def play(scenario: Callable[[LocalStore], Awaitable[None]], **options: Any) -> None:
        assert inspect.iscoroutinefunction(scenario)

        async def whole() -> None:
            local = LocalStore(tmp_path / "store", **options)
            try:
                await scenario(local)
            finally:
                await local.store.stop()

        asyncio.run(whole())

    return play
