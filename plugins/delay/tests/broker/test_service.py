"""The service `delay` as a broker has it."""

from __future__ import annotations

from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.requests.admin import GetTimerMetrics
from mqframe.hooks.manager import PluginManager


def test_its_distribution_brings_it() -> None:
    described = {(info.kind, info.name): info for info in PluginManager().installed(options=True)}
    found = described["broker_service", "delay"]
    assert (found.distribution, found.problem) == ("mqframe-plugin-delay", "")


async def test_without_it_what_asks_for_a_time_is_refused_and_levels_are_delivered() -> None:
    async with ClusterScene(topics={"t": 2}, broker={"services_blocked": ("delay",)}) as world:
        answer = await world.client.send("t", properties="TIMER_DELAY_SEC\x011\x02")
        told = "its service delay is left out (broker.services_blocked)"
        assert (answer.code, answer.remark) == (1, f"this broker delivers nothing at a given time: {told}")
        assert (await world.client.invoke(GetTimerMetrics())).code == 3
        await world.settle()
        assert world.store.log.max_offset == 0
        await world.client.ok_send("t", "DELAY\x011\x02TIMER_DELAY_SEC\x019\x02")
        await world.clock.aadvance(1)
        assert world.store.queues.max_offset("t", 0) == 1
