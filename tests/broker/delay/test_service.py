"""The service `delay` as a broker has it."""

from __future__ import annotations

from typing import Any

from mqframe.core.requests.admin import GetAllDelayOffset
from mqframe.hooks.manager import PluginManager


def test_it_is_registered_like_a_plugin() -> None:
    plugins = PluginManager(list)
    assert "delay" in plugins.names("broker_service")
    described = {info.name: info for info in plugins.installed(options=True)}
    assert (described["delay"].distribution, described["delay"].problem) == ("mqframe", "")


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


def test_without_it_what_is_delayed_is_refused(run: Any) -> None:
    plugins = PluginManager()
    plugins.block("broker_service.delay")

    async def scenario(world: Any) -> None:
        answer = await world.talker.send("t", properties="DELAY\x011\x02")
        told = "this broker delivers no delayed messages: it has no service delay"
        assert (answer.code, answer.remark) == (1, told)
        await world.settle()
        assert world.store.log.max_offset == 0
        assert (await world.talker.invoke(GetAllDelayOffset())).code == 3

    run(scenario, plugins=plugins)
