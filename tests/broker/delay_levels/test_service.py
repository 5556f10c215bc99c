"""The service `delay_levels` as a broker has it."""

from __future__ import annotations

from typing import Any

from mqframe.core.requests.admin import GetAllDelayOffset
from mqframe.hooks.manager import PluginManager


def test_it_is_registered_like_a_plugin() -> None:
    described = {info.name: info for info in PluginManager(list).installed(options=True)}
    found = described["delay_levels"]
    assert (found.kind, found.distribution, found.problem) == ("broker_service", "mqframe", "")


def test_what_is_delivered_is_remembered_by_a_broker_that_stops(run: Any) -> None:
    async def scenario(world: Any) -> None:
        await world.talker.ok_send("t", "DELAY\x011\x02")
        await world.clock.aadvance(2)
        assert world.store.queues.max_offset("t", 0) == 1
        await world.cluster.restart_broker()
        await world.clock.aadvance(10)
        assert world.store.queues.max_offset("t", 0) == 1
        saved = world.cluster.directory / "broker-a" / "config" / "delayOffset.json"
        assert b'"1":1' in saved.read_bytes().replace(b" ", b"")

    run(scenario)


def test_without_it_what_names_a_level_is_refused(run: Any) -> None:
    async def scenario(world: Any) -> None:
        answer = await world.talker.send("t", properties="DELAY\x011\x02")
        told = "its service delay_levels is left out (broker.services_blocked)"
        assert (answer.code, answer.remark) == (1, f"this broker delivers no delayed messages: {told}")
        await world.settle()
        assert world.store.log.max_offset == 0
        assert (await world.talker.invoke(GetAllDelayOffset())).code == 3

    run(scenario, broker={"services_blocked": ("delay_levels",)})
