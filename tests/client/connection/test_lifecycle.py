"""Clients with an instance of their own, and with one that others start and stop."""

from __future__ import annotations

import pytest
from mqframe_testing.cluster import Cluster
from mqframe_testing.consuming import ClientScene
from mqframe_testing.manual_clock import ManualClock

from mqframe import Admin, AsyncProducer, LitePullConsumer, Producer, Puller, SimpleConsumer
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.lifecycle import AsyncClient, InstanceLease
from mqframe.client.settings import ClientSettings
from mqframe.core.errors import MqframeError


class Noting(AsyncClient):
    def __init__(self) -> None:
        self.calls: list[str] = []

    async def start(self) -> None:
        self.calls.append("start")

    async def stop(self) -> None:
        self.calls.append("stop")


async def test_a_block_starts_and_stops_its_client_also_when_it_raises() -> None:
    client = Noting()
    async with client as entered:
        assert entered is client
        assert client.calls == ["start"]
    assert client.calls == ["start", "stop"]
    with pytest.raises(ZeroDivisionError):
        async with client:
            raise ZeroDivisionError
    assert client.calls == ["start", "stop"] * 2


async def test_a_shared_instance_is_left_running() -> None:
    async with ClientScene() as scene:
        timers = scene.clock.timers
        lease = InstanceLease(scene.instance, scene.instance.settings, scene.clock, None, ())
        assert await lease.open() is scene.instance
        await lease.close(scene.instance)
        assert scene.clock.timers == timers > 0


async def test_an_instance_of_its_own_is_started_and_stopped() -> None:
    clock = ManualClock()
    settings = ClientSettings(nameserver="127.0.0.1:1", instance_name="own")
    lease = InstanceLease(None, settings, clock, None, ())
    one, two = await lease.open(), await lease.open()
    assert one is not two
    assert isinstance(one, ClientInstance)
    assert one.settings is settings
    running = clock.timers
    await lease.close(one)
    assert clock.timers == running // 2 > 0
    await lease.close(two)
    assert clock.timers == 0
    with pytest.raises(MqframeError):
        await two.route("t")


def test_a_client_says_what_it_is_and_whether_it_runs(mqframe_shared_cluster: Cluster) -> None:
    nameserver = mqframe_shared_cluster.nameserver
    producer = Producer("shop", nameserver=nameserver)
    assert repr(producer) == "<Producer of group shop, not started>"
    with producer:
        assert repr(producer) == "<Producer of group shop, running>"
    assert repr(producer) == "<Producer of group shop, stopped>"
    assert repr(AsyncProducer("shop", nameserver=nameserver)) == "<AsyncProducer of group shop, not started>"
    consumer = LitePullConsumer("billing", nameserver=nameserver)
    assert repr(consumer) == "<LitePullConsumer of group billing, not started>"
    assert repr(SimpleConsumer("billing", nameserver=nameserver)).endswith("billing, not started>")
    assert repr(Admin(nameserver=nameserver)) == "<Admin, not started>"
    assert repr(Puller(nameserver=nameserver)).startswith("<Puller of group TOOLS_CONSUMER")
