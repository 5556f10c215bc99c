from __future__ import annotations

import asyncio
import zlib
from hashlib import md5

import pytest
from doors import DoorScene, consumer_settings, message, receive_request
from mqframe_grpc.proto import messages as m

TOPICS = {"orders": 4, "lines": 1}
TYPES = {"lines": "FIFO"}


def bodies(messages: list[m.Message]) -> list[bytes]:
    return [each.body for each in messages]


async def test_messages_come_whole_and_once() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        sent = message("orders", b"o-1", tag="paid", keys=["k"], user={"n": "1"}, trace_context="t")
        await scene.send_one(sent)
        [found] = await scene.receive("orders", "billing")
        said = found.system_properties
        assert (found.topic.name, found.body, dict(found.user_properties)) == ("orders", b"o-1", {"n": "1"})
        assert (said.message_id, said.tag, list(said.keys)) == (
            sent.system_properties.message_id,
            "paid",
            ["k"],
        )
        assert said.body_digest.checksum == md5(b"o-1").hexdigest().upper()
        assert (said.delivery_attempt, said.trace_context) == (1, "t")
        assert len(said.receipt_handle.split(" ")) == 9
        assert await scene.receive("orders", "billing") == []
        assert bodies(await scene.receive("orders", "shipping")) == [b"o-1"]


async def test_a_receive_waits_for_a_message_and_is_answered_in_order() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        held = scene.begin("ReceiveMessage", receive_request("orders", "billing", seconds=20.0), timeout=25.0)
        await scene.pass_time(2.0)
        assert held.answers == []
        await scene.send_one(message("orders", b"late"), client="b@1")
        answers = await scene.finish(held.task)
        assert [each.WhichOneof("content") for each in answers] == ["status", "message", "delivery_timestamp"]
        assert answers[0].status.code == m.Code.OK
        assert answers[2].delivery_timestamp.seconds == scene.clock.now_ms() // 1000


async def test_small_messages_leave_in_one_piece_and_large_ones_in_their_own() -> None:
    async with DoorScene(topics={"orders": 1}) as scene:
        for number in range(6):
            await scene.send_one(message("orders", f"{number}".encode() * (1 if number < 4 else 16_000)))
        held = scene.begin("ReceiveMessage", receive_request("orders", "billing"), timeout=9.0)
        answers = await scene.finish(held.task)
        assert held.pieces == [5, 1, 2]
        assert [len(each.message.body) for each in answers[1:-1]] == [1, 1, 1, 1, 16_000, 16_000]
        assert answers[0].status.code == m.Code.OK
        assert answers[-1].WhichOneof("content") == "delivery_timestamp"


async def test_a_receive_that_finds_nothing() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        asked = receive_request("orders", "billing", seconds=5.0)
        answers = await scene.call("ReceiveMessage", asked, timeout=9.0)
        assert [each.WhichOneof("content") for each in answers] == ["status", "delivery_timestamp"]
        assert answers[0].status.code == m.Code.MESSAGE_NOT_FOUND


async def test_a_receive_that_is_given_up_takes_nothing() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        asked = receive_request("orders", "billing", seconds=20.0, invisible_seconds=600)
        held = scene.begin("ReceiveMessage", asked, timeout=25.0)
        await scene.pass_time(1.0)
        held.cancel()
        await asyncio.gather(held.task, return_exceptions=True)
        await scene.send_one(message("orders", b"o-1"))
        assert bodies(await scene.receive("orders", "billing", "b@1")) == [b"o-1"]


async def test_what_is_not_acknowledged_comes_again_and_counts() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        await scene.create_group("billing", retries=1)
        await scene.send_one(message("orders", b"o-1"))
        attempts = []
        for _ in range(2):
            [found] = await scene.receive("orders", "billing", seconds=20.0, invisible_seconds=10)
            attempts.append((found.topic.name, found.system_properties.delivery_attempt))
            await scene.pass_time(12.0)
        assert attempts == [("orders", 1), ("orders", 2)]
        # It came as often as the group has it; the next receive makes it a dead letter.
        assert await scene.receive("orders", "billing", seconds=20.0) == []
        [letter] = await scene.receive("%DLQ%billing", "undertakers")
        origin = letter.system_properties.dead_letter_queue
        assert (letter.body, origin.topic) == (b"o-1", "orders")
        assert origin.message_id == letter.system_properties.message_id


async def test_tags_choose_by_their_text_and_sql_by_properties() -> None:
    async with DoorScene(topics=TOPICS, broker={"property_filter": True}) as scene:
        # These two tags have one hash code.
        await scene.send_one(message("orders", b"wanted", tag="Aa", user={"n": "1"}))
        await scene.send_one(message("orders", b"other", tag="BB", user={"n": "2"}))
        assert bodies(await scene.receive("orders", "billing", expression="Aa")) == [b"wanted"]
        await scene.pass_time(31.0)
        again = await scene.receive("orders", "billing", expression="Aa")
        assert bodies(again) == [b"wanted"]  # the other was acknowledged
        request = receive_request("orders", "shipping")
        request.filter_expression.type = m.FilterType.SQL
        request.filter_expression.expression = "n > 1"
        answers = await scene.call("ReceiveMessage", request, timeout=9.0)
        assert [each.message.body for each in answers[1:-1]] == [b"other"]


async def test_bodies_that_remoting_clients_packed_come_plain() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        port = scene.cluster.broker.service_port
        packed = zlib.compress(b"x" * 10_000)
        port.writer.put(
            "orders", 0, packed, {"UNIQ_KEY": "K" * 32}, born_timestamp=scene.clock.now_ms(), sys_flag=1
        )
        [found] = await scene.receive("orders", "billing")
        assert found.body == b"x" * 10_000
        assert found.system_properties.body_encoding == m.Encoding.IDENTITY


async def test_order_holds_until_what_was_handed_over_is_done() -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        await scene.create_group("billing", ordered=True)
        for body in (b"1", b"2", b"3"):
            await scene.send_one(message("lines", body, message_group="g"))
        first = await scene.receive("lines", "billing", count=1)
        assert bodies(first) == [b"1"]
        assert await scene.receive("lines", "billing", "b@1") == []
        await scene.acknowledge("billing", *first)
        assert bodies(await scene.receive("lines", "billing", "b@1")) == [b"2", b"3"]


async def test_a_repeated_attempt_of_an_ordered_receive_does_not_block_itself() -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        await scene.create_group("billing", ordered=True)
        await scene.send_one(message("lines", b"1", message_group="g"))
        for _ in range(2):
            assert bodies(await scene.receive("lines", "billing", attempt_id="try-1")) == [b"1"]
        assert await scene.receive("lines", "billing", attempt_id="try-2") == []


async def test_messages_of_push_consumers_stay_hidden_until_their_member_is_gone() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        push = consumer_settings("billing", "orders", kind=m.ClientType.PUSH_CONSUMER)
        stream = await scene.join("a@1", push)
        await scene.send_one(message("orders", b"o-1"), client="p@1")
        [found] = await scene.receive("orders", "billing", "a@1", auto_renew=True)
        for _ in range(9):
            await scene.pass_time(20.0)
            [beat] = await scene.call("Heartbeat", m.HeartbeatRequest(), "a@1")
            assert beat.status.code == m.Code.OK
        assert await scene.receive("orders", "billing", "b@1") == []
        await scene.leave("a@1", stream)
        [again] = await scene.receive("orders", "billing", "b@1", seconds=20.0)
        assert again.body == found.body
        assert again.system_properties.delivery_attempt == 2


@pytest.mark.parametrize(
    ("topic", "group", "fields", "code"),
    [
        ("no/topic", "g", {}, m.Code.ILLEGAL_TOPIC),
        ("orders", "g/", {}, m.Code.ILLEGAL_CONSUMER_GROUP),
        ("nowhere", "g", {}, m.Code.TOPIC_NOT_FOUND),
        ("orders", "g", {"invisible_seconds": 9}, m.Code.ILLEGAL_INVISIBLE_TIME),
        ("orders", "g", {"broker": "another"}, m.Code.BAD_REQUEST),
        ("orders", "g", {"expression": "||"}, m.Code.ILLEGAL_FILTER_EXPRESSION),
    ],
)
async def test_receives_that_cannot_be(
    topic: str, group: str, fields: dict[str, object], code: m.Code
) -> None:
    async with DoorScene(topics=TOPICS) as scene:
        asked = receive_request(topic, group, **fields)  # type: ignore[arg-type]
        answers = await scene.call("ReceiveMessage", asked, timeout=9.0)
        assert [each.WhichOneof("content") for each in answers] == ["status", "delivery_timestamp"]
        assert answers[0].status.code == code


async def test_a_wrong_sql_expression_is_refused_as_one() -> None:
    async with DoorScene(topics=TOPICS, broker={"property_filter": True}) as scene:
        request = receive_request("orders", "billing", expression="a >")
        request.filter_expression.type = m.FilterType.SQL
        answers = await scene.call("ReceiveMessage", request, timeout=9.0)
        assert answers[0].status.code == m.Code.ILLEGAL_FILTER_EXPRESSION
