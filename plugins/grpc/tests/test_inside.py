from __future__ import annotations

import pytest
from doors import DoorScene
from mqframe_grpc.inside import InsideBackend
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected


async def test_a_route_has_its_own_broker_alone() -> None:
    async with DoorScene(2, topics={"orders": 2}) as scene:
        backend = InsideBackend(scene.cluster.broker.service_port)
        route = await scene.finish(backend.route(scene.door.clients.own(), "orders"))
        assert [(each.broker_name, each.read_queue_nums) for each in route.queue_datas] == [("broker-a", 2)]
        assert [(each.broker_name, each.broker_addrs) for each in route.broker_datas] == [
            ("broker-a", {0: scene.cluster.broker.address})
        ]


async def test_only_its_own_broker_is_asked() -> None:
    async with DoorScene() as scene:
        backend = InsideBackend(scene.cluster.broker.service_port)
        assert backend.brokers == ("broker-a",)
        assert backend.broker_of("") == backend.broker_of("broker-a") == "broker-a"
        with pytest.raises(Rejected) as raised:
            backend.broker_of("broker-b")
        assert raised.value.code is m.Code.BAD_REQUEST


async def test_places_of_messages() -> None:
    async with DoorScene(topics={"orders": 4}) as scene:
        backend = InsideBackend(scene.cluster.broker.service_port)
        own = scene.door.clients.own()
        anywhere = await backend.write_place(own, "orders", "")
        assert (anywhere.broker, anywhere.queue_id, anywhere.topic.topic_name) == ("broker-a", -1, "orders")
        places = [await backend.write_place(own, "orders", f"g{number}") for number in range(50)]
        assert {each.queue_id for each in places} == {0, 1, 2, 3}
        with pytest.raises(Rejected) as raised:
            await backend.write_place(own, "nowhere", "")
        assert raised.value.code is m.Code.TOPIC_NOT_FOUND
