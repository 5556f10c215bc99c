"""A broker and a plain client of the protocol, on a clock that only the test moves."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from mqframe.core.bodies import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from mqframe.core.frame import Frame
from mqframe.core.loosejson import dumps
from mqframe.core.requests import Request
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.messages import PullMessage, SendMessageV2
from mqframe.net.call import Reply
from mqframe.net.client import Client
from mqframe.testing.cluster import AsyncCluster
from mqframe.testing.manual_clock import ManualClock


class Talker:
    """One connection to the broker. `notices`: groups that it was told to rebalance."""

    def __init__(self, cluster: AsyncCluster) -> None:
        self.cluster = cluster
        self.address = cluster.broker.address
        self.notices: list[str] = []
        self.client = Client(cluster.clock, handlers={40: self._notice})

    def _notice(self, call: Any) -> Reply:
        self.notices.append(call.frame.ext["consumerGroup"])
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

    async def settle(self) -> None:
        """Let everything under way come to its end, without moving the clock."""
        for _ in range(3):
            await self.clock.aadvance(0)
            await asyncio.sleep(0.001)


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
