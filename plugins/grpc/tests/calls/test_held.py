from __future__ import annotations

import asyncio
from typing import Any

import pytest
from doors import DoorScene, message, receive_request
from mqframe_grpc.proto import messages as m

TOPICS = {"orders": 1}


def outcome(answers: list[Any]) -> tuple[m.Code, str]:
    return answers[0].status.code, answers[0].status.message


@pytest.mark.parametrize("outside", [False, True])
async def test_what_waits_is_answered_and_takes_nothing_any_more(outside: bool) -> None:
    async with DoorScene(outside=outside, topics=TOPICS) as scene:
        asked = receive_request("orders", "billing", seconds=20)
        waiting = [scene.begin("ReceiveMessage", asked, name, 23.0) for name in ("a@1", "a@2")]
        await scene.pass_time(1.0)
        scene.door.leave()
        for each in waiting:
            answers = await each.task
            assert outcome(answers) == (m.Code.MESSAGE_NOT_FOUND, "no new message: the door stops")
            assert answers[1].WhichOneof("content") == "delivery_timestamp"
            assert each.grpc.task is not None
            assert not each.grpc.task.cancelling()
        await scene.close_door()
        await scene.open_door()
        await scene.send_one(message("orders", b"o-1"))
        [got] = await scene.receive("orders", "billing")
        assert got.system_properties.delivery_attempt == 1


async def test_pulls_that_wait_are_answered() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        asked = m.PullMessageRequest(
            group=m.Resource(name="billing"),
            message_queue=m.MessageQueue(topic=m.Resource(name="orders"), broker=m.Broker(name="broker-a")),
            batch_size=32,
            filter_expression=m.FilterExpression(type=m.FilterType.TAG, expression="*"),
            long_polling_timeout=m.Duration(seconds=10),
        )
        waiting = scene.begin("PullMessage", asked, timeout=30.0)
        await scene.pass_time(1.0)
        assert not waiting.task.done()
        scene.door.leave()
        assert outcome(await waiting.task)[0] == m.Code.MESSAGE_NOT_FOUND


async def test_what_comes_later_is_answered_at_the_end() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        scene.door.leave()
        scene.door.leave()
        await scene.send_one(message("orders", b"o-1"))
        late = scene.begin("ReceiveMessage", receive_request("orders", "billing", seconds=20), timeout=23.0)
        await scene.pass_time(3.0)
        assert not late.task.done()
        scene.door.stop()
        assert outcome(await late.task)[0] == m.Code.MESSAGE_NOT_FOUND


async def test_a_client_that_gives_up_as_the_door_stops_gets_nothing() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        waiting = scene.begin(
            "ReceiveMessage", receive_request("orders", "billing", seconds=20), timeout=23.0
        )
        await scene.pass_time(1.0)
        waiting.cancel()
        scene.door.leave()
        with pytest.raises(asyncio.CancelledError):
            await waiting.task
        assert waiting.answers == []
