"""The service `delay_levels` as a broker has it."""

from __future__ import annotations

from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.requests.admin import GetAllDelayOffset
from mqframe.hooks.manager import PluginManager


def test_it_is_registered_like_a_plugin() -> None:
    described = {info.name: info for info in PluginManager(list).installed(options=True)}
    found = described["delay_levels"]
    assert (found.kind, found.distribution, found.problem) == ("broker_service", "mqframe", "")


async def test_what_is_delivered_is_remembered_by_a_broker_that_stops() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", "DELAY\x011\x02")
        await world.clock.aadvance(2)
        assert world.store.queues.max_offset("t", 0) == 1
        await world.cluster.restart_broker()
        await world.clock.aadvance(10)
        assert world.store.queues.max_offset("t", 0) == 1
        saved = world.cluster.directory / "broker-a" / "config" / "delayOffset.json"
        assert b'"1":1' in saved.read_bytes().replace(b" ", b"")


async def test_without_it_what_names_a_level_is_refused() -> None:
    async with ClusterScene(topics={"t": 2}, broker={"services_blocked": ("delay_levels",)}) as world:
        answer = await world.client.send("t", properties="DELAY\x011\x02")
        told = "its service delay_levels is left out (broker.services_blocked)"
        assert (answer.code, answer.remark) == (1, f"this broker delivers no delayed messages: {told}")
        await world.settle()
        assert world.store.log.max_offset == 0
        assert (await world.client.invoke(GetAllDelayOffset())).code == 3
