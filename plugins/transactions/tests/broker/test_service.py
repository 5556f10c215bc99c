"""The service `transactions` as a broker has it."""

from __future__ import annotations

from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.codes import ResponseCode
from mqframe.hooks.manager import PluginManager


def test_it_is_registered_like_a_plugin() -> None:
    described = {info.name: info for info in PluginManager().installed(options=True)}
    found = described["transactions"]
    assert (found.kind, found.problem) == ("broker_service", "")
    assert found.distribution == "mqframe-plugin-transactions"


async def test_half_messages_are_hidden_while_it_is_there() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok_send("t", "TRAN_MSG\x01true\x02PGROUP\x01p\x02")
        await world.settle()
        assert world.store.queues.max_offset("t", 0) == 0
        assert world.store.queues.max_offset("RMQ_SYS_TRANS_HALF_TOPIC", 0) == 1


async def test_without_it_they_are_refused() -> None:
    plugins = PluginManager()
    plugins.block("broker_service.transactions")

    async with ClusterScene(topics={"t": 2}, plugins=plugins) as world:
        answer = await world.client.send("t", properties="TRAN_MSG\x01true\x02PGROUP\x01p\x02")
        assert answer.code == ResponseCode.NO_PERMISSION
        await world.settle()
        assert world.store.log.max_offset == 0
