from __future__ import annotations

import pytest
from doors import ENDPOINTS, DoorScene
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.proto import messages as m

TOPICS = {"orders": 2, "lines": 1, "all": 1}
TYPES = {"lines": "FIFO", "all": "MIXED"}


def asked(topic: str) -> m.QueryRouteRequest:
    return m.QueryRouteRequest(topic=m.Resource(name=topic), endpoints=ENDPOINTS)


def assignment(topic: str, group: str) -> m.QueryAssignmentRequest:
    return m.QueryAssignmentRequest(
        topic=m.Resource(name=topic), group=m.Resource(name=group), endpoints=ENDPOINTS
    )


async def test_a_route_has_all_queues_at_the_address_by_which_the_door_was_found() -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        [answer] = await scene.call("QueryRoute", asked("orders"))
        assert answer.status.code == m.Code.OK
        assert [(each.id, each.permission) for each in answer.message_queues] == [
            (0, m.Permission.READ_WRITE),
            (1, m.Permission.READ_WRITE),
        ]
        for each in answer.message_queues:
            assert (each.broker.name, each.broker.id, each.broker.endpoints) == ("broker-a", 0, ENDPOINTS)
            assert (each.topic.name, list(each.accept_message_types)) == ("orders", [m.MessageType.NORMAL])


@pytest.mark.parametrize(
    ("topic", "types"),
    [
        ("lines", [m.MessageType.FIFO]),
        (
            "all",
            [m.MessageType.NORMAL, m.MessageType.FIFO, m.MessageType.DELAY, m.MessageType.TRANSACTION],
        ),
    ],
)
async def test_a_route_says_what_a_topic_takes(topic: str, types: list[int]) -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        [answer] = await scene.call("QueryRoute", asked(topic))
        assert list(answer.message_queues[0].accept_message_types) == types


async def test_an_advertised_address_counts_for_everybody() -> None:
    async with DoorScene(topics=TOPICS, options=GrpcOptions(advertised="mq.example:443")) as scene:
        [answer] = await scene.call("QueryRoute", asked("orders"))
        found = answer.message_queues[0].broker.endpoints
        assert found.scheme == m.AddressScheme.DOMAIN_NAME
        assert [(each.host, each.port) for each in found.addresses] == [("mq.example", 443)]


@pytest.mark.parametrize(
    ("topic", "code"), [("nowhere", m.Code.TOPIC_NOT_FOUND), ("no/topic", m.Code.ILLEGAL_TOPIC)]
)
async def test_routes_that_are_none(topic: str, code: m.Code) -> None:
    async with DoorScene(topics=TOPICS) as scene:
        [answer] = await scene.call("QueryRoute", asked(topic))
        assert (answer.status.code, len(answer.message_queues)) == (code, 0)


async def test_a_topic_is_found_before_name_servers_know_it() -> None:
    async with DoorScene() as scene:
        scene.cluster.broker.service_port.topics.ensure("fresh", 2)
        [answer] = await scene.call("QueryRoute", asked("fresh"))
        assert [each.id for each in answer.message_queues] == [0, 1]


async def test_members_receive_from_a_broker_and_from_each_queue_in_order() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        await scene.create_group("in_order", ordered=True)
        [whole] = await scene.call("QueryAssignment", assignment("orders", "billing"))
        [single] = await scene.call("QueryAssignment", assignment("orders", "in_order"))
        assert [each.message_queue.id for each in whole.assignments] == [-1]
        assert [each.message_queue.id for each in single.assignments] == [0, 1]


async def test_a_topic_that_gives_no_messages() -> None:
    async with DoorScene() as scene:
        await scene.finish(scene.cluster.create_topic("closed", 2, perm=2))
        [answer] = await scene.call("QueryAssignment", assignment("closed", "billing"))
        assert answer.status.code == m.Code.FORBIDDEN
