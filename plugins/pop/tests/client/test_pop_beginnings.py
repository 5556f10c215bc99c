"""Where a group begins whose progress brokers keep."""

from __future__ import annotations

import pytest
from mqframe_pop.client.pop_beginnings import PopBeginnings
from mqframe_testing.consuming import ClientScene

from mqframe.core.errors import AnswerError
from mqframe.core.requests.consumers import UpdateConsumerOffset


async def test_brokers_are_told_the_ends_of_queues_of_a_group_that_is_new() -> None:
    async with ClientScene({"orders": 2}) as scene:
        scene.broker.put("orders", 0, b"a", b"b")
        begun = PopBeginnings("g", scene.instance, last=True)
        await begun.find(["orders"])
        assert scene.broker.sent(UpdateConsumerOffset) == []  # they do not know the group yet
        scene.broker.put("orders", 0, b"c")
        await begun.keep()
        await begun.keep()
        told = [(each.queue_id, each.commit_offset) for each in scene.broker.sent(UpdateConsumerOffset)]
        assert told == [(0, 2), (1, 0)]


@pytest.mark.parametrize(("last", "offset"), [(True, 1), (False, None)])
async def test_a_group_that_is_known_or_begins_at_the_first_message_is_left_alone(last, offset) -> None:
    async with ClientScene() as scene:
        scene.broker.put("orders", 0, b"a", b"b")
        if offset is not None:
            scene.broker.offsets["g", scene.broker.queue("orders", 0)] = offset
        begun = PopBeginnings("g", scene.instance, last=last)
        await begun.find(["orders"])
        await begun.keep()
        assert scene.broker.sent(UpdateConsumerOffset) == []


async def test_a_refusal_keeps_no_other_queue_from_its_beginning(caplog) -> None:
    async with ClientScene({"orders": 2}) as scene:
        scene.broker.put("orders", 1, b"a")
        begun = PopBeginnings("g", scene.instance, last=True)
        await begun.find(["orders"])
        scene.broker.script(UpdateConsumerOffset, AnswerError(26, "no group", "b:1"))
        await begun.keep()
        assert scene.broker.offsets == {("g", scene.broker.queue("orders", 1)): 1}
    assert [each.levelname for each in caplog.records if "where the group begins" in each.getMessage()] == [
        "WARNING"
    ]
