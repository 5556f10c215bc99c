"""Who the members of a group are."""

from __future__ import annotations

import pytest
from mqframe_testing.consuming import ClientScene

from mqframe.client.consuming.group.members import group_members
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.cluster.route_bodies import BrokerData, TopicRouteData
from mqframe.core.errors import CallTimeout, RouteError
from mqframe.core.requests.consumers import GetConsumerListByGroup

TWO = TopicRoute(
    "orders",
    TopicRouteData(
        broker_datas=[BrokerData(name, {0: f"{name}:1"}, "c") for name in ("broker-b", "broker-a")],
        queue_datas=[],
    ),
)


async def test_the_first_broker_that_answers_tells():
    async with ClientScene() as scene:
        scene.broker.members["billing"] = ["b", "a"]
        assert await group_members(scene.instance, "billing", TWO) == ["b", "a"]
        scene.broker.script(GetConsumerListByGroup, CallTimeout("late"))
        assert await group_members(scene.instance, "billing", TWO) == ["b", "a"]
        scene.broker.script(GetConsumerListByGroup, CallTimeout("late"), CallTimeout("later"))
        with pytest.raises(CallTimeout, match="later"):
            await group_members(scene.instance, "billing", TWO)


async def test_a_route_without_brokers_is_an_error():
    async with ClientScene() as scene:
        empty = TopicRoute("orders", TopicRouteData(broker_datas=[], queue_datas=[]))
        with pytest.raises(RouteError, match="the route of topic orders names no broker"):
            await group_members(scene.instance, "billing", empty)
