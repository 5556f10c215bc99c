"""Routes of topics one of whose brokers cannot be reached."""

from __future__ import annotations

from mqframe_testing.consuming import ClientScene

from mqframe.client.consuming.group.late_routes import AGAIN_SECONDS, LateRoutes
from mqframe.core.errors import RouteError
from mqframe.core.requests.nameserver import GetRouteinfoByTopic


async def test_a_route_is_asked_for_once_in_a_while_however_many_queues_fail() -> None:
    async with ClientScene() as scene:
        await scene.instance.route("orders")
        late = LateRoutes(scene.instance, scene.clock)
        before = len(scene.broker.sent(GetRouteinfoByTopic))
        for _ in range(3):
            late.ask("orders")
            await scene.clock.aadvance(AGAIN_SECONDS / 4)
        assert len(scene.broker.sent(GetRouteinfoByTopic)) == before + 1
        await scene.clock.aadvance(AGAIN_SECONDS / 4)
        late.ask("orders")
        await scene.clock.aadvance(0.1)
        assert len(scene.broker.sent(GetRouteinfoByTopic)) == before + 2


async def test_name_servers_that_do_not_answer_are_asked_later() -> None:
    async with ClientScene() as scene:
        await scene.instance.route("orders")
        late = LateRoutes(scene.instance, scene.clock)
        scene.broker.script(GetRouteinfoByTopic, RouteError("nobody there"))
        before = len(scene.broker.sent(GetRouteinfoByTopic))
        late.ask("orders")
        await scene.clock.aadvance(AGAIN_SECONDS)
        late.ask("orders")
        await scene.clock.aadvance(0.1)
        assert len(scene.broker.sent(GetRouteinfoByTopic)) == before + 2
