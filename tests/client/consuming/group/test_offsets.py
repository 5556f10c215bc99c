"""Offsets as brokers know them."""

from __future__ import annotations

import pytest
from mqframe_testing.consuming import ClientScene

from mqframe.client.consuming.group.offsets import (
    AskedQueueOffsets,
    BrokerOffsets,
    ReadingPlace,
    broker_address,
    committed_offset,
    master_address,
    presumed_offset,
    reading_place,
)
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.cluster.route_bodies import BrokerData, QueueData, TopicRouteData
from mqframe.core.errors import AnswerError, RouteError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.consumers import QueryConsumerOffset
from mqframe.core.requests.nameserver import GetRouteinfoByTopic


async def test_the_ends_of_a_queue_and_the_first_offset_of_a_time() -> None:
    async with ClientScene() as scene:
        queue = scene.broker.queue("orders", 0)
        scene.broker.first[queue] = 3
        scene.broker.put("orders", 0, b"a", b"b")
        offsets = AskedQueueOffsets(scene.instance)
        assert await offsets.min_offset(queue) == 3
        assert await offsets.max_offset(queue) == 5
        assert await offsets.offset_at(queue, 1_700_000_000_000) == 3


async def test_a_group_without_offset_has_none_and_other_refusals_are_raised() -> None:
    async with ClientScene() as scene:
        queue, offsets = scene.broker.queue("orders", 0), BrokerOffsets(scene.instance, "g")
        assert await offsets.query(queue) is None
        await offsets.commit(queue, 9)
        assert await offsets.query(queue) == 9
        scene.broker.script(QueryConsumerOffset, AnswerError(1, "no", "b:1"))
        with pytest.raises(AnswerError):
            await offsets.query(queue)


async def test_brokers_are_told_whether_they_may_presume_a_beginning() -> None:
    async with ClientScene() as scene:
        queue = scene.broker.queue("orders", 0)
        assert await committed_offset(scene.instance, "g", queue) is None
        assert await presumed_offset(scene.instance, "g", queue) is None
        asked = [each.set_zero_if_not_found for each in scene.broker.sent(QueryConsumerOffset)]
        assert asked == [False, None]


async def test_a_broker_that_the_route_does_not_name_is_looked_for_once_more() -> None:
    async with ClientScene() as scene:
        stranger = MessageQueue("orders", "broker-b", 0)
        assert await master_address(scene.instance, scene.broker.queue("orders", 0)) == scene.broker.address
        for find in (broker_address, master_address):
            before = len(scene.broker.sent(GetRouteinfoByTopic))
            with pytest.raises(RouteError, match="broker-b"):
                await find(scene.instance, stranger)
            assert len(scene.broker.sent(GetRouteinfoByTopic)) == before + 1


class Routes:
    """Answers with the route of a broker whose members are at these addresses."""

    def __init__(self, **addresses: str) -> None:
        members = {int(name[1:]): address for name, address in addresses.items()}
        queues = [QueueData("b", 6, 4, 4)]
        self.found = TopicRoute("t", TopicRouteData([BrokerData("b", members)], {}, None, queues))

    async def route(self, topic: str, *, refresh: bool = False) -> TopicRoute:
        return self.found


@pytest.mark.parametrize(
    ("members", "broker_id", "place"),
    [
        ({"_0": "m", "_1": "s"}, 0, ReadingPlace("m", True)),
        ({"_0": "m", "_1": "s"}, 1, ReadingPlace("s", False)),
        ({"_0": "m", "_2": "s"}, 1, ReadingPlace("s", False)),
        ({"_0": "m"}, 1, ReadingPlace("m", True)),
        ({"_1": "s"}, 0, ReadingPlace("s", False)),
    ],
)
async def test_a_queue_is_read_where_that_was_suggested_else_anywhere(
    members: dict[str, str], broker_id: int, place: ReadingPlace
) -> None:
    routes, queue = Routes(**members), MessageQueue("t", "b", 0)
    assert await reading_place(routes, queue, broker_id) == place  # type: ignore[arg-type]
    commits_at = await broker_address(routes, queue)  # type: ignore[arg-type]
    assert commits_at == members.get("_0", "s")
