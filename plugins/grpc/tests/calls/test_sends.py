from __future__ import annotations

import gzip

import pytest
from doors import DoorScene, message
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.proto import messages as m

from mqframe.core.messages.message import ReceivedMessage

TOPICS = {"orders": 4, "lines": 4, "later": 1, "halves": 1, "all": 4}
TYPES = {"lines": "FIFO", "later": "DELAY", "halves": "TRANSACTION", "all": "MIXED"}


async def send(scene: DoorScene, *messages: m.Message) -> m.SendMessageResponse:
    [answer] = await scene.call("SendMessage", m.SendMessageRequest(messages=messages))
    assert isinstance(answer, m.METHODS["/apache.rocketmq.v2.MessagingService/SendMessage"][1])
    return answer


async def stored(scene: DoorScene, topic: str) -> list[ReceivedMessage]:
    """All messages of a topic, by queue."""
    port = scene.cluster.broker.service_port
    return [each for queue in range(4) for each in await port.reader.read(topic, queue, 0, 100)]


async def test_what_is_sent_is_stored_with_all_its_parts() -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        one = message(
            "orders", "Grüße".encode(), tag="paid", keys=["o-1", "c-7"], user={"région": "nörd", "n": "1"},
            born_host="laptop", born_timestamp=m.Timestamp(seconds=1_700_000_000, nanos=5_000_000),
        )  # fmt: skip
        answer = await send(scene, one)
        assert answer.status.code == m.Code.OK
        [entry] = answer.entries
        name = one.system_properties.message_id
        assert (entry.message_id, entry.transaction_id, entry.offset) == (name, name, 0)
        [found] = await stored(scene, "orders")
        assert found.body.decode() == "Grüße"
        assert (found.tag, found.keys, found.message_id) == ("paid", ["o-1", "c-7"], name)
        assert found.born_timestamp == 1_700_000_000_005
        assert found.properties["région"] == "nörd"
        assert found.properties["__BORNHOST"] == "laptop"
        assert found.properties["PGROUP"] == "orders"


async def test_each_message_of_a_batch_has_an_entry_and_keeps_its_own_properties() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        sent = [message("orders", f"o-{n}".encode(), user={"n": str(n)}) for n in range(3)]
        answer = await send(scene, *sent)
        assert answer.status.code == m.Code.OK
        assert [entry.message_id for entry in answer.entries] == [
            each.system_properties.message_id for each in sent
        ]
        found = {each.body.decode(): each.properties["n"] for each in await stored(scene, "orders")}
        assert found == {"o-0": "0", "o-1": "1", "o-2": "2"}


async def test_messages_of_a_group_lie_in_one_queue_in_their_order() -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        for number in range(6):
            await scene.send_one(message("lines", str(number).encode(), message_group=f"g{number % 2}"))
        by_group: dict[str, list[tuple[int, str]]] = {}
        for each in await stored(scene, "lines"):
            by_group.setdefault(each.properties["__SHARDINGKEY"], []).append(
                (each.queue_id, each.body.decode())
            )
        assert {queue for queue, _ in by_group["g0"]} == {by_group["g0"][0][0]}
        assert [body for _, body in by_group["g0"]] == ["0", "2", "4"]
        assert [body for _, body in by_group["g1"]] == ["1", "3", "5"]


async def test_packed_bodies_are_stored_plain() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        packed = message("orders", gzip.compress(b"x" * 10_000), body_encoding=m.Encoding.GZIP)
        await scene.send_one(packed)
        [found] = await stored(scene, "orders")
        assert found.stored_body == b"x" * 10_000


async def test_what_is_delayed_is_delivered_when_it_is_due_and_may_be_recalled() -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        due = scene.clock.now_ms() + 5_000
        when = m.Timestamp(seconds=due // 1000, nanos=due % 1000 * 1_000_000)
        kept, recalled = (message("later", body, delivery_timestamp=when) for body in (b"kept", b"recalled"))
        assert (await scene.send_one(kept)).recall_handle
        handle = (await scene.send_one(recalled)).recall_handle
        asked = m.RecallMessageRequest(topic=m.Resource(name="later"), recall_handle=handle)
        [answer] = await scene.call("RecallMessage", asked)
        assert (answer.status.code, answer.message_id) == (m.Code.OK, recalled.system_properties.message_id)
        assert await scene.receive("later", "readers", seconds=3.0) == []
        found = await scene.receive("later", "readers", seconds=10.0)
        assert [each.body for each in found] == [b"kept"]
        assert scene.clock.now_ms() >= due


@pytest.mark.parametrize(
    ("topic", "handle", "code"),
    [
        ("orders", "x", m.Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE),
        ("later", "rubbish", m.Code.INTERNAL_SERVER_ERROR),
        ("nowhere", "x", m.Code.TOPIC_NOT_FOUND),
    ],
)
async def test_recalls_that_cannot_be(topic: str, handle: str, code: m.Code) -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        asked = m.RecallMessageRequest(topic=m.Resource(name=topic), recall_handle=handle)
        [answer] = await scene.call("RecallMessage", asked)
        assert answer.status.code == code


@pytest.mark.parametrize(
    ("topic", "parts", "code"),
    [
        ("nowhere", {}, m.Code.TOPIC_NOT_FOUND),
        ("no/topic", {}, m.Code.ILLEGAL_TOPIC),
        ("orders", {"message_group": "g"}, m.Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE),
        ("lines", {}, m.Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE),
        ("all", {"tag": "a|b"}, m.Code.ILLEGAL_MESSAGE_TAG),
        ("all", {"message_id": " "}, m.Code.ILLEGAL_MESSAGE_ID),
    ],
)
async def test_what_is_wrong_is_not_stored(topic: str, parts: dict[str, str], code: m.Code) -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        answer = await send(scene, message(topic, b"x", **parts))
        assert (answer.status.code, len(answer.entries)) == (code, 0)
        port = scene.cluster.broker.service_port
        assert [port.reader.queue_max(name, 0) for name in TOPICS] == [0] * 5


async def test_types_are_not_checked_where_that_is_switched_off() -> None:
    async with DoorScene(topics=TOPICS, options=GrpcOptions(check_types=False)) as scene:
        await scene.send_one(message("orders", b"x", message_group="g"))
        assert [each.properties["__SHARDINGKEY"] for each in await stored(scene, "orders")] == ["g"]


async def test_a_topic_that_takes_no_messages() -> None:
    async with DoorScene() as scene:
        await scene.finish(scene.cluster.create_topic("closed", 2, perm=4))
        answer = await send(scene, message("closed", b"x"))
        assert (answer.status.code, answer.status.message[:17]) == (m.Code.FORBIDDEN, "no writable queue")


async def test_a_client_without_an_id_is_nobody() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        request = m.SendMessageRequest(messages=[message("orders", b"x")])
        [answer] = await scene.call("SendMessage", request, " ")
        assert answer.status.code == m.Code.CLIENT_ID_REQUIRED
