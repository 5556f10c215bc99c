"""Where a group begins that is new to a topic."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_testing.consuming import ClientScene

from mqframe.client.consuming.group.beginnings import Beginnings
from mqframe.core.consuming.consume_rules import ConsumeFrom
from mqframe.core.errors import AnswerError
from mqframe.core.requests.consumers import GetMaxOffset
from mqframe.core.requests.nameserver import GetRouteinfoByTopic

LAST = (ConsumeFrom.LAST, 0)
MOMENT = (ConsumeFrom.TIMESTAMP, 1_700_000_000_000)


class Stored:
    """Offsets of a group by queue id, and the queue ids that were asked for."""

    def __init__(self, **offsets: int) -> None:
        self._offsets = {int(name[1:]): offset for name, offset in offsets.items()}
        self.asked: list[int] = []

    async def __call__(self, queue):
        self.asked.append(queue.queue_id)
        return self._offsets.get(queue.queue_id)


@pytest.mark.parametrize(("begin", "offset"), [(LAST, 5), (MOMENT, 3)])
async def test_a_new_group_begins_in_all_queues_where_it_says_itself(begin, offset) -> None:
    async with ClientScene({"orders": 3}) as scene:
        queues = [scene.broker.queue("orders", number) for number in range(3)]
        for queue in queues:
            scene.broker.first[queue] = 3
            scene.broker.put("orders", queue.queue_id, b"a", b"b")
        stored = Stored()
        beginnings = Beginnings(scene.instance, stored, begin)
        assert beginnings.get(queues[0]) is None
        assert await beginnings.find(["orders"]) == dict.fromkeys(queues, offset)
        assert [beginnings.get(queue) for queue in queues] == [offset] * 3
        # Later it is known by then.
        assert await beginnings.find(["orders"]) == {}
        assert stored.asked == [0, 1, 2]


@pytest.mark.parametrize(
    ("known", "asked"),
    [({"_0": 4}, [0]), ({"_0": 0}, [0]), ({"_2": 4}, [0, 1, 2]), ({"_1": 7, "_2": 4}, [0, 1, 2])],
)
async def test_a_group_with_an_offset_of_one_queue_is_not_new(known, asked) -> None:
    async with ClientScene({"orders": 3}) as scene:
        stored = Stored(**known)
        beginnings = Beginnings(scene.instance, stored, LAST)
        assert await beginnings.find(["orders"]) == {}
        assert beginnings.get(scene.broker.queue("orders", 1)) is None
        assert stored.asked == asked
        assert scene.broker.sent(GetMaxOffset) == []


@pytest.mark.parametrize(
    ("begin", "topic"), [((ConsumeFrom.FIRST, 0), "orders"), (LAST, "%RETRY%g"), (MOMENT, "%RETRY%g")]
)
async def test_nothing_is_asked_where_the_beginning_is_that_of_the_queue(begin, topic) -> None:
    async with ClientScene({"orders": 1, "%RETRY%g": 1}) as scene:
        stored = Stored()
        assert await Beginnings(scene.instance, stored, begin).find([topic]) == {}
        assert stored.asked == []


async def test_a_topic_that_is_made_later_is_not_looked_at_again() -> None:
    async with ClientScene() as scene:
        beginnings = Beginnings(scene.instance, Stored(), LAST)
        found = await beginnings.find(["later", "orders"])
        assert {queue.topic for queue in found} == {"orders"}
        asked = len(scene.broker.sent(GetRouteinfoByTopic))
        assert await beginnings.find(["later"]) == {}
        assert len(scene.broker.sent(GetRouteinfoByTopic)) == asked


async def test_where_a_broker_does_not_answer_the_group_counts_as_known() -> None:
    async with ClientScene() as scene:
        scene.broker.script(GetMaxOffset, AnswerError(1, "no", "b:1"))
        beginnings = Beginnings(scene.instance, Stored(), LAST)
        assert await beginnings.find(["orders"]) == {}
        assert beginnings.get(scene.broker.queue("orders", 0)) is None


@pytest.mark.parametrize(("begin", "offset"), [(LAST, 3), (MOMENT, 3)])
async def test_a_topic_that_came_since_is_read_from_its_first_message_on(begin, offset) -> None:
    async with ClientScene({"orders": 1}) as scene:
        queue = scene.broker.queue("orders", 0)
        scene.broker.first[queue] = 3
        scene.broker.put("orders", 0, b"a", b"b")
        beginnings = Beginnings(scene.instance, Stored(), begin)
        assert await beginnings.find(["orders"], late=True) == {queue: offset}
        assert await Beginnings(scene.instance, Stored(_0=4), begin).find(["orders"], late=True) == {}


async def test_who_asks_while_a_topic_is_looked_at_waits_for_what_is_found() -> None:
    """As a rebalance does beside a subscription that was added: it would begin at 0 else."""
    async with ClientScene({"orders": 1}) as scene:
        queue = scene.broker.queue("orders", 0)
        scene.broker.put("orders", 0, b"a", b"b")
        asked, answer = asyncio.Event(), asyncio.Event()

        async def slow(queue):
            asked.set()
            await answer.wait()

        beginnings = Beginnings(scene.instance, slow, LAST)
        first = asyncio.ensure_future(beginnings.find(["orders"]))
        await asked.wait()
        second = asyncio.ensure_future(beginnings.find(["orders"]))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not second.done()
        answer.set()
        assert (await first, await second) == ({queue: 2}, {})
        assert beginnings.get(queue) == 2
