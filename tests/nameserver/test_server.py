"""When a name server drops brokers."""

from __future__ import annotations

import asyncio

import pytest
from nameserver.place import Place

from mqframe.core.errors import PluginError, Refusal
from mqframe.core.requests import nameserver as ns
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.client import Client


async def test_a_silent_broker_is_dropped_and_its_connection_closed() -> None:
    async with Place() as place:
        await place.register("x", "y", heartbeat_timeout_millis=20_000)
        await place.clock.aadvance(15)
        beat = ns.BrokerHeartbeat("C", "127.0.0.1:10911", "broker-a")
        assert (await place.call(beat)).code == 0
        await place.clock.aadvance(20)
        assert place.server.registry.topics() == ["x", "y"]
        await place.clock.aadvance(5)
        assert place.server.registry.topics() == []
        while place.client.addresses:
            await asyncio.sleep(0)


async def test_that_a_silent_broker_is_back_is_as_loud_as_that_it_was_silent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Place() as place:
        await place.register("x", "y", heartbeat_timeout_millis=20_000)
        await place.clock.aadvance(35)
        assert place.server.registry.topics() == []
        await place.client.close()
        place.client = Client(place.clock)
        await place.register("x", "y", heartbeat_timeout_millis=20_000)
        await place.clock.aadvance(10)
    records = [each for each in caplog.records if each.name == "mqframe.nameserver"]
    told = [(each.levelname, each.getMessage().partition(" cluster=")[0]) for each in records]
    assert told == [("WARNING", "broker is silent"), ("WARNING", "broker is back")]


async def test_a_broker_is_dropped_at_once_when_its_connection_closes() -> None:
    async with Place() as place:
        await place.register("x", "y")
        await place.client.close()
        while place.server.registry.topics():
            await asyncio.sleep(0)
        place.client = Client(place.clock)
        assert (await place.call(ns.GetRouteinfoByTopic("x"))).code == 17


async def test_a_name_server_has_budgets_for_brokers_routes_and_values() -> None:
    async with Place(brokers_max=2, route_entries_max=64, values_max=64) as place:
        assert (await place.register("x", "y", name="a", host=1)).code == 0
        assert (await place.register("x", "y", name="b", host=2)).code == 0
        answer = await place.register("x", "y", name="c", host=3)
        assert (answer.code, "(nameserver.brokers_max)" in (answer.remark or "")) == (2, True)
        assert (await place.register("x", "y", name="a", host=1)).code == 0
        answer = await place.register(*(f"t{n}" for n in range(100)), name="b", host=2)
        assert (answer.code, "(nameserver.route_entries_max)" in (answer.remark or "")) == (2, True)
        assert place.server.counters()["budget.routeEntries.used"] == "64"
        for number in range(64):
            assert (await place.call(ns.PutKvConfig("n", f"k{number}", "v"))).code == 0
        answer = await place.call(ns.PutKvConfig("n", "one-more", "v"))
        assert (answer.code, "(nameserver.values_max)" in (answer.remark or "")) == (2, True)
        assert (await place.call(ns.PutKvConfig("n", "k0", "w"))).code == 0
        assert (await place.call(ns.DeleteKvConfig("n", "k0"))).code == 0
        assert (await place.call(ns.PutKvConfig("n", "one-more", "v"))).code == 0


class Bouncer(RpcHook):
    """Lets nobody ask for routes."""

    name = "bouncer"

    def before(self, address: str, request: Frame) -> None:
        if request.code == ns.GetRouteinfoByTopic.CODE:
            raise Refusal(16, "not today")


async def test_rpc_hooks_that_the_settings_name_see_every_request() -> None:
    async with Place(rpc_hooks=(f"{__name__}:Bouncer",)) as place:
        assert (await place.register("x", "y")).code == 0
        answer = await place.call(ns.GetRouteinfoByTopic("x"))
        assert (answer.code, answer.remark) == (16, "not today")


def test_an_rpc_hook_that_nobody_has_stops_the_start() -> None:
    with pytest.raises(PluginError, match="bouncr"):
        Place(rpc_hooks=("bouncr",))
