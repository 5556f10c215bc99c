"""The service `pop` as a broker has it."""

from __future__ import annotations

from mqframe_pop.requests import PopMessage
from mqframe_testing.cluster_scene import ClusterScene

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


async def test_what_is_in_flight_stays_so_over_a_restart_and_comes_back_when_its_time_is_over() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t")
        await world.settle()
        assert (await world.client.invoke(pop())).remark == "FOUND"
        await world.cluster.restart_broker()
        assert (await world.connect().invoke(pop())).remark == "NO_MESSAGE_IN_QUEUE"
        await world.clock.aadvance(70)
        assert (await world.connect().invoke(pop())).remark == "FOUND"


async def test_it_works_without_the_service_that_delays() -> None:
    plugins = PluginManager()
    plugins.block("broker_service.delay")

    async with ClusterScene(topics={"t": 2}, plugins=plugins) as world:
        await world.client.ok_send("t")
        await world.settle()
        assert (await world.client.invoke(pop())).remark == "FOUND"
        await world.clock.aadvance(70)
        assert (await world.client.invoke(pop())).remark == "FOUND"
