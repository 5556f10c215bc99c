"""When a name server drops brokers."""

from __future__ import annotations

import asyncio

from nameserver.place import Place
from peers import run

from mqframe.core.requests import nameserver as ns
from mqframe.net.client import Client


def test_a_silent_broker_is_dropped_and_its_connection_closed() -> None:
    async def scenario() -> None:
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

    run(scenario)


def test_a_broker_is_dropped_at_once_when_its_connection_closes() -> None:
    async def scenario() -> None:
        async with Place() as place:
            await place.register("x", "y")
            await place.client.close()
            while place.server.registry.topics():
                await asyncio.sleep(0)
            place.client = Client(place.clock)
            assert (await place.call(ns.GetRouteinfoByTopic("x"))).code == 17

    run(scenario)
