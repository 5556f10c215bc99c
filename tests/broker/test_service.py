"""Services of several parts in a broker: what parts declare, and the order in which they start and stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.requests.admin import GetBrokerRuntimeInfo, InvokeBrokerToResetOffset
from mqframe.core.wire.bodies import KVTable
from mqframe.core.wire.loose_json import decode
from mqframe.hooks.interfaces import BrokerService, CompositeService, OnArrival, Periodic
from mqframe.hooks.interfaces.broker_service import with_parts
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl


class Plain(BrokerService):
    """A part as plugins make them; notes in `seen` what is called."""

    def __init__(self, name: str, seen: list[str], *topics: str) -> None:
        self.name = name
        self.seen = seen
        self.topics = topics

    def arrivals(self) -> Mapping[str, OnArrival]:
        return dict.fromkeys(self.topics, self.arrived)

    def arrived(self, topic: str, queue_id: int, max_offset: int, codes: Any) -> None:
        self.seen.append(f"{self.name} {topic}/{queue_id} {max_offset} {codes}")

    def periodic(self) -> Sequence[Periodic]:
        return [Periodic(7.0, lambda: self.seen.append(f"{self.name} ticks"), self.name)]

    def counters(self) -> Mapping[str, str]:
        return {self.name: "1"}

    async def start(self) -> None:
        self.seen.append(f"{self.name} starts")

    async def stop(self) -> None:
        self.seen.append(f"{self.name} stops")

    def abandon(self) -> None:
        self.seen.append(f"{self.name} is abandoned")


class Heeding(Plain):
    """A part that heeds every notice; its second reset fails."""

    def connection_closed(self, peer: Any) -> None:
        self.seen.append(f"{self.name} lost a connection")

    def offset_reset(self, group: str, topic: str, queue_id: int) -> None:
        self.seen.append(f"{self.name} {group} {topic}/{queue_id}")
        if queue_id:
            raise RuntimeError("a bug in offset_reset")

    def answer_waiting(self) -> None:
        self.seen.append(f"{self.name} answers")


@pytest.fixture
def seen() -> list[str]:
    return []


@pytest.fixture
def options(seen: list[str]) -> dict[str, Any]:
    """Of a broker with a service of the parts a, b and c, of which b heeds no notice."""

    class Plugin:
        @hookimpl
        def register_broker_services(self) -> dict[str, Any]:
            parts = [Heeding("a", seen, "t"), Plain("b", seen, "u", "t"), Heeding("c", seen)]
            return {"three": lambda port: CompositeService(parts)}

    plugins = PluginManager()
    plugins.register(Plugin())
    return {"plugins": plugins, "broker": {"services": ("three",)}}


def calls(seen: list[str]) -> list[str]:
    """What was called, apart from the ends of connections, which come whenever one ends."""
    return [each for each in seen if not each.endswith("lost a connection")]


def test_parts_follow_their_service() -> None:
    first, inner = Plain("a", []), Plain("b", [])
    composite = CompositeService([first, inner])
    after = Plain("c", [])
    assert with_parts([composite, after]) == [composite, first, inner, after]


async def test_parts_start_in_order_and_stop_in_reverse(options: dict[str, Any], seen: list[str]) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        assert seen == ["a starts", "b starts", "c starts"]
        seen.clear()
        await world.cluster.stop_broker()
        assert calls(seen) == ["a answers", "c answers", "c stops", "b stops", "a stops"]


async def test_parts_are_abandoned_in_order(options: dict[str, Any], seen: list[str]) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        seen.clear()
        await world.cluster.kill_broker()
        assert calls(seen) == ["a is abandoned", "b is abandoned", "c is abandoned"]


async def test_what_parts_declare_is_the_broker_s(options: dict[str, Any], seen: list[str]) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        seen.clear()
        await world.clock.aadvance(8)
        assert calls(seen) == ["a ticks", "b ticks", "c ticks"]
        shown = decode(memoryview((await world.client.ok(GetBrokerRuntimeInfo())).body), KVTable).table
        assert [shown[name] for name in "abc"] == ["1", "1", "1"]


async def test_parts_that_follow_one_topic_hear_of_it_in_their_order(
    options: dict[str, Any], seen: list[str]
) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        await world.cluster.create_topic("u", 1)
        seen.clear()
        await world.client.ok_send("t", queue_id=1)
        await world.client.ok_send("u")
        await world.settle()
        assert calls(seen) == ["a t/1 1 [0]", "b t/1 1 [0]", "b u/0 1 [0]"]


async def test_parts_that_heed_it_hear_of_connections_and_resets_whatever_others_make_of_it(
    options: dict[str, Any], seen: list[str]
) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        other = world.connect()
        await other.ok(GetBrokerRuntimeInfo())
        seen.clear()
        await other.client.close()
        await world.settle()
        assert seen == ["a lost a connection", "c lost a connection"]
        await world.client.heartbeat("g")
        await world.client.ok_send("t", queue_id=1)
        await world.settle()
        seen.clear()
        await world.client.ok(InvokeBrokerToResetOffset(topic="t", group="g", timestamp=-1, is_force=True))
        assert seen == ["a g t/0", "c g t/0", "a g t/1", "c g t/1"]
