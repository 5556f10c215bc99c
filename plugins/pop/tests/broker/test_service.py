"""The service `pop` as a broker has it."""

from __future__ import annotations

from typing import Any

from mqframe_pop.requests import PopMessage

from mqframe.hooks.manager import PluginManager


def pop() -> PopMessage:
    return PopMessage(
        consumer_group="g", topic="t", queue_id=-1, max_msg_nums=8, invisible_time=60_000, poll_time=0,
        born_time=0, init_mode=0,
    )  # fmt: skip


def test_it_is_registered_like_a_plugin() -> None:
    described = {info.name: info for info in PluginManager().installed(options=True)}
    found = described["pop"]
    assert (found.kind, found.distribution, found.problem) == ("broker_service", "mqframe-plugin-pop", "")


def test_what_is_in_flight_stays_so_over_a_restart_and_comes_back_when_its_time_is_over(run: Any) -> None:
    async def scenario(world: Any) -> None:
        await world.talker.ok_send("t")
        await world.settle()
        assert (await world.talker.invoke(pop())).remark == "FOUND"
        await world.cluster.restart_broker()
        assert (await world.join().invoke(pop())).remark == "NO_MESSAGE_IN_QUEUE"
        await world.clock.aadvance(70)
        assert (await world.join().invoke(pop())).remark == "FOUND"

    run(scenario)


def test_it_works_without_the_service_that_delays(run: Any) -> None:
    plugins = PluginManager()
    plugins.block("broker_service.delay")

    async def scenario(world: Any) -> None:
        await world.talker.ok_send("t")
        await world.settle()
        assert (await world.talker.invoke(pop())).remark == "FOUND"
        await world.clock.aadvance(70)
        assert (await world.talker.invoke(pop())).remark == "FOUND"

    run(scenario, plugins=plugins)
