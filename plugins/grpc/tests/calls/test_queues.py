from __future__ import annotations

from typing import Any

from doors import DoorScene, message
from mqframe_grpc.proto import messages as m

TOPICS = {"orders": 1}


def queue(topic: str = "orders", number: int = 0) -> m.MessageQueue:
    return m.MessageQueue(topic=m.Resource(name=topic), id=number, broker=m.Broker(name="broker-a"))


def pull(offset: int, wait: int = 0, **fields: Any) -> m.PullMessageRequest:
    return m.PullMessageRequest(
        group=m.Resource(name="readers"),
        message_queue=queue(),
        offset=offset,
        batch_size=32,
        filter_expression=m.FilterExpression(type=m.FilterType.TAG, expression="*"),
        long_polling_timeout=m.Duration(seconds=wait),
        **fields,
    )


async def test_messages_are_pulled_from_an_offset_on() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        await scene.create_group("readers")
        for body in (b"1", b"2", b"3"):
            await scene.send_one(message("orders", body))
        answers = await scene.call("PullMessage", pull(1))
        assert [each.WhichOneof("content") for each in answers] == [
            "status", "message", "message", "next_offset",
        ]  # fmt: skip
        assert [each.message.body for each in answers[1:3]] == [b"2", b"3"]
        assert answers[3].next_offset == 3


async def test_small_messages_that_are_pulled_leave_in_one_piece_and_large_ones_in_their_own() -> None:
    async with DoorScene(topics={"orders": 1}) as scene:
        await scene.create_group("readers")
        for body in (b"1", b"2", b"3" * 16_000, b"4" * 16_000):
            await scene.send_one(message("orders", body))
        held = scene.begin("PullMessage", pull(0), timeout=9.0)
        answers = await scene.finish(held.task)
        assert held.pieces == [3, 1, 2]
        assert [each.message.body[:1] for each in answers[1:-1]] == [b"1", b"2", b"3", b"4"]
        assert answers[-1].next_offset == 4


async def test_a_pull_waits_for_messages() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        await scene.create_group("readers")
        held = scene.begin("PullMessage", pull(0, wait=10), timeout=30.0)
        await scene.pass_time(1.0)
        assert held.answers == []
        await scene.send_one(message("orders", b"1"), "p@1")
        answers = await scene.finish(held.task)
        assert [each.message.body for each in answers[1:-1]] == [b"1"]
        nothing = await scene.call("PullMessage", pull(1, wait=10), timeout=30.0)
        assert nothing[0].status.code == m.Code.MESSAGE_NOT_FOUND
        assert nothing[-1].next_offset == 1


async def test_an_offset_that_the_queue_does_not_have() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        await scene.create_group("readers")
        await scene.send_one(message("orders", b"1"))
        [answer] = await scene.call("PullMessage", pull(7))
        assert answer.status.code == m.Code.ILLEGAL_OFFSET


async def test_offsets_are_kept_for_a_group() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        await scene.create_group("readers")
        await scene.send_one(message("orders", b"1"))
        group = m.Resource(name="readers")
        [none] = await scene.call("GetOffset", m.GetOffsetRequest(group=group, message_queue=queue()))
        assert none.status.code == m.Code.OFFSET_NOT_FOUND
        update = m.UpdateOffsetRequest(group=group, message_queue=queue(), offset=1)
        [done] = await scene.call("UpdateOffset", update)
        assert done.status.code == m.Code.OK
        [found] = await scene.call("GetOffset", m.GetOffsetRequest(group=group, message_queue=queue()))
        assert (found.status.code, found.offset) == (m.Code.OK, 1)
        update = m.UpdateOffsetRequest(group=group, message_queue=queue(), offset=-1)
        [refused] = await scene.call("UpdateOffset", update)
        assert refused.status.code == m.Code.ILLEGAL_OFFSET


async def test_queues_begin_end_and_were_somewhere_at_a_time() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        await scene.send_one(message("orders", b"1"))
        await scene.pass_time(10.0)
        second = scene.clock.now_ms()
        await scene.send_one(message("orders", b"2"))
        found = []
        for policy in m.QueryOffsetPolicy:
            stamp = m.Timestamp(seconds=second // 1000, nanos=second % 1000 * 1_000_000)
            asked = m.QueryOffsetRequest(message_queue=queue(), query_offset_policy=policy, timestamp=stamp)
            [answer] = await scene.call("QueryOffset", asked)
            found.append((policy.name, answer.offset))
        assert found == [("BEGINNING", 0), ("END", 2), ("TIMESTAMP", 1)]
        asked = m.QueryOffsetRequest(
            message_queue=queue(),
            query_offset_policy=m.QueryOffsetPolicy.TIMESTAMP,
            timestamp=m.Timestamp(seconds=-5),
        )
        [answer] = await scene.call("QueryOffset", asked)
        assert answer.status.code == m.Code.BAD_REQUEST
