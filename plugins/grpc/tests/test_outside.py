"""What clients see is the same, whether the door is in the broker's process or before all brokers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from doors import (
    CLIENT,
    ENDPOINTS,
    DoorScene,
    consumer_settings,
    message,
    producer_settings,
    receive_request,
)
from mqframe_grpc.proto import messages as m
from mqframe_transactions.settings import TransactionSettings

from mqframe.core.messages.names import dead_letter_topic

GROUP = "billing"
TYPES = {"ordered": "FIFO", "later": "DELAY", "halves": "TRANSACTION"}
TOPICS = {"orders": 4, "ordered": 4, "later": 4, "halves": 4}
CHECK_SECONDS = 10.0

MakeScene = Callable[[], DoorScene]


@pytest.fixture(
    params=[(1, False), (1, True), (2, True)], ids=["inside", "before one broker", "before two brokers"]
)
def make_scene(request: pytest.FixtureRequest) -> MakeScene:
    """Makes the scene of a test: so many brokers, and where the door is."""
    brokers, outside = request.param
    checks = TransactionSettings(timeout_ms=1000, check_interval_ms=int(CHECK_SECONDS * 1000))
    return lambda: DoorScene(brokers, outside=outside, topics=TOPICS, types=TYPES, sections=[checks])


async def route(scene: DoorScene, topic: str) -> list[Any]:
    """The queues of `topic`, as clients are told."""
    request = m.QueryRouteRequest(topic=m.Resource(name=topic), endpoints=ENDPOINTS)
    [answer] = await scene.call("QueryRoute", request)
    assert answer.status.code == m.Code.OK, answer
    return list(answer.message_queues)


async def names(scene: DoorScene, topic: str) -> list[str]:
    """The brokers that `topic` is received from."""
    request = m.QueryAssignmentRequest(
        topic=m.Resource(name=topic), group=m.Resource(name=GROUP), endpoints=ENDPOINTS
    )
    [answer] = await scene.call("QueryAssignment", request)
    assert answer.status.code == m.Code.OK, answer
    return list(dict.fromkeys(each.message_queue.broker.name for each in answer.assignments))


async def receive(scene: DoorScene, topic: str, **fields: Any) -> list[Any]:
    """The messages of one receive of each broker, at the same time."""
    calls = [
        scene.begin("ReceiveMessage", receive_request(topic, GROUP, broker=name, **fields), timeout=30.0)
        for name in await names(scene, topic)
    ]
    await scene.finish(asyncio.gather(*[call.task for call in calls]))
    for call in calls:
        assert call.answers[0].status.code in (m.Code.OK, m.Code.MESSAGE_NOT_FOUND), call.answers
    return [
        each.message for call in calls for each in call.answers if each.WhichOneof("content") == "message"
    ]


async def change(scene: DoorScene, got: Any, seconds: int) -> str:
    """The new handle of a message that is hidden for so long from now on."""
    request = m.ChangeInvisibleDurationRequest(
        group=m.Resource(name=GROUP),
        topic=got.topic,
        receipt_handle=got.system_properties.receipt_handle,
        invisible_duration=m.Duration(seconds=seconds),
        message_id=got.system_properties.message_id,
    )
    [answer] = await scene.call("ChangeInvisibleDuration", request)
    assert answer.status.code == m.Code.OK, answer
    handle: str = answer.receipt_handle
    return handle


async def end(scene: DoorScene, sent: Any, how: int, *, checked: bool = False, client: str = CLIENT) -> Any:
    """The answer to the end of a transaction."""
    source = m.TransactionSource.SOURCE_SERVER_CHECK if checked else m.TransactionSource.SOURCE_CLIENT
    request = m.EndTransactionRequest(
        topic=m.Resource(name="halves"),
        message_id=sent.message_id,
        transaction_id=sent.transaction_id,
        resolution=how,
        source=source,
    )
    [answer] = await scene.call("EndTransaction", request, client)
    return answer.status


def half(body: bytes) -> m.Message:
    return message("halves", body, message_type=m.MessageType.TRANSACTION)


def bodies(messages: list[Any]) -> list[bytes]:
    return sorted(each.body for each in messages)


async def test_a_route_has_all_queues_at_the_door(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        queues = await route(scene, "orders")
        brokers = [broker.service_port.identity.name for broker in scene.cluster.brokers]
        found = [(each.broker.name, each.broker.id, each.id) for each in queues]
        assert found == [(name, 0, number) for name in brokers for number in range(4)]
        assert all(each.broker.endpoints == ENDPOINTS for each in queues)
        assert [list(each.accept_message_types) for each in await route(scene, "ordered")] == [
            [m.MessageType.FIFO]
        ] * (4 * len(brokers))


async def test_messages_are_spread_received_and_done(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        sent = [b"%d" % number for number in range(16)]
        for body in sent:
            await scene.send_one(message("orders", body, tag="red", keys=["k"], user={"a": "b"}))
        for broker in range(len(scene.cluster.brokers)):
            used = [queue for queue in range(4) if scene.stored("orders", queue, broker=broker)]
            assert len(used) > 1  # in its own process the broker chooses, at random
            assert used == [0, 1, 2, 3] or not scene.outside
        got = await receive(scene, "orders")
        assert bodies(got) == sorted(sent)
        first = got[0]
        assert (first.system_properties.tag, list(first.system_properties.keys)) == ("red", ["k"])
        assert (dict(first.user_properties), first.system_properties.delivery_attempt) == ({"a": "b"}, 1)
        results = await scene.acknowledge(GROUP, *got)
        assert [each.status.code for each in results] == [m.Code.OK] * 16
        await scene.pass_time(60.0)
        assert await receive(scene, "orders") == []


async def test_what_is_not_done_comes_again(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        await scene.send_one(message("orders", b"late"))
        [got] = await receive(scene, "orders", invisible_seconds=15)
        assert await receive(scene, "orders") == []
        [again] = await receive(scene, "orders", seconds=20)
        assert (again.body, again.system_properties.delivery_attempt) == (b"late", 2)
        [result] = await scene.acknowledge(GROUP, got)
        assert result.status.code == m.Code.INVALID_RECEIPT_HANDLE


async def test_a_group_of_messages_keeps_to_one_queue_and_to_its_order(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        await scene.create_group(GROUP, ordered=True)
        sent = [b"%d" % number for number in range(9)]
        for body in sent:
            await scene.send_one(message("ordered", body, message_group="customer 7"))
        got = await receive(scene, "ordered", count=5)
        assert [each.body for each in got] == sent[:5]
        assert {each.system_properties.message_group for each in got} == {"customer 7"}
        assert await receive(scene, "ordered") == []
        await scene.acknowledge(GROUP, *got)
        assert [each.body for each in await receive(scene, "ordered")] == sent[5:]


async def test_invisible_time_is_changed(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        await scene.send_one(message("orders", b"slow"))
        [got] = await receive(scene, "orders", invisible_seconds=10)
        handle = await change(scene, got, 120)
        await scene.pass_time(60.0)
        assert await receive(scene, "orders") == []
        got.system_properties.receipt_handle = handle
        await change(scene, got, 0)
        [again] = await receive(scene, "orders", seconds=20)
        assert again.body == b"slow"


async def test_dead_letters(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        sent = await scene.send_one(message("orders", b"poison"))
        [got] = await receive(scene, "orders")
        request = m.ForwardMessageToDeadLetterQueueRequest(
            group=m.Resource(name=GROUP),
            topic=got.topic,
            receipt_handle=got.system_properties.receipt_handle,
            message_id=got.system_properties.message_id,
        )
        [answer] = await scene.call("ForwardMessageToDeadLetterQueue", request)
        assert answer.status.code == m.Code.OK
        brokers = range(len(scene.cluster.brokers))
        topic = dead_letter_topic(GROUP)
        [dead] = [each for broker in brokers for each in scene.stored(topic, broker=broker)]
        assert (dead.body, dead.message_id) == (b"poison", sent.message_id)
        await scene.pass_time(60.0)
        assert await receive(scene, "orders") == []


async def test_what_fails_too_often_is_buried_by_the_door(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        await scene.create_group(GROUP, retries=1)
        await scene.send_one(message("orders", b"poison"))
        for attempt in (1, 2):
            [got] = await receive(scene, "orders", seconds=20)
            assert got.system_properties.delivery_attempt == attempt
            await change(scene, got, 0)
        assert await receive(scene, "orders", seconds=20) == []
        brokers = range(len(scene.cluster.brokers))
        dead = [body for broker in brokers for body in scene.bodies(dead_letter_topic(GROUP), broker=broker)]
        assert dead == [b"poison"]


async def test_transactions_end_as_they_are_told(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        for number in range(4):  # at each of the brokers
            kept, dropped = await scene.send_one(half(b"kept")), await scene.send_one(half(b"dropped"))
            assert await receive(scene, "halves") == []
            assert (await end(scene, kept, m.TransactionResolution.COMMIT)).code == m.Code.OK
            assert (await end(scene, dropped, m.TransactionResolution.ROLLBACK)).code == m.Code.OK
            got = await receive(scene, "halves")
            assert [each.body for each in got] == [b"kept"], number
            await scene.acknowledge(GROUP, *got)


async def test_a_new_door_finds_open_transactions(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        sent = [await scene.send_one(half(b"%d" % number)) for number in range(4)]
        await scene.pass_time(1.0)
        await scene.close_door()
        await scene.open_door()
        for each in sent:
            assert (await end(scene, each, m.TransactionResolution.COMMIT)).code == m.Code.OK
        assert bodies(await receive(scene, "halves")) == [b"0", b"1", b"2", b"3"]
        sent[0].transaction_id = "no such"
        assert (await end(scene, sent[0], m.TransactionResolution.COMMIT)).code == (
            m.Code.INVALID_TRANSACTION_ID
        )


async def test_producers_are_asked_about_open_transactions_in_turn(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        streams = {name: await scene.join(name, producer_settings("halves")) for name in ("p@1", "p@2")}
        await scene.join("p@3", producer_settings("orders"))
        sent = [await scene.send_one(half(b"%d" % number), "p@1") for number in range(4)]
        await scene.until(lambda: sum(len(each.commands) for each in streams.values()) >= 4)
        asked = {
            command.recover_orphaned_transaction_command.transaction_id: (name, command)
            for name, stream in streams.items()
            for command in stream.commands
        }
        assert asked.keys() == {each.transaction_id for each in sent}
        assert {name for name, _ in asked.values()} == {"p@1", "p@2"}
        for each in sent:
            name, command = asked[each.transaction_id]
            told = command.recover_orphaned_transaction_command.message
            assert (told.topic.name, told.system_properties.message_id) == ("halves", each.message_id)
            status = await end(scene, each, m.TransactionResolution.COMMIT, checked=True, client=name)
            assert status.code == m.Code.OK
        assert bodies(await receive(scene, "halves")) == [b"0", b"1", b"2", b"3"]


async def test_a_producer_that_went_is_not_asked(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        gone = await scene.join("p@1", producer_settings("halves"))
        stays = await scene.join("p@2", producer_settings("halves"))
        await scene.send_one(half(b"open"), "p@1")
        await scene.leave("p@1", gone)
        await scene.until(lambda: stays.commands)
        await scene.pass_time(5 * CHECK_SECONDS)
        assert gone.commands == []
        assert len(stays.commands) >= 4


async def test_a_transaction_that_is_left_open_is_asked_about_again(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        stream = await scene.join("p@1", producer_settings("halves"))
        sent = await scene.send_one(half(b"open"), "p@1")
        await scene.until(lambda: stream.commands)
        unknown = m.TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED
        assert (await end(scene, sent, unknown, checked=True)).code == m.Code.OK
        await scene.until(lambda: len(stream.commands) == 2)
        assert (await end(scene, sent, m.TransactionResolution.ROLLBACK, checked=True)).code == m.Code.OK
        await scene.pass_time(5 * CHECK_SECONDS)
        assert len(stream.commands) == 2


async def test_delayed_messages_are_recalled(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        at = m.Timestamp(seconds=scene.clock.now_ms() // 1000 + 60)
        sent = [await scene.send_one(message("later", b"%d" % n, delivery_timestamp=at)) for n in range(4)]
        for each in sent[:2]:
            request = m.RecallMessageRequest(topic=m.Resource(name="later"), recall_handle=each.recall_handle)
            [answer] = await scene.call("RecallMessage", request)
            assert (answer.status.code, answer.message_id) == (m.Code.OK, each.message_id)
        assert await receive(scene, "later") == []
        await scene.pass_time(70.0)
        assert bodies(await receive(scene, "later")) == [b"2", b"3"]
        rubbish = m.RecallMessageRequest(topic=m.Resource(name="later"), recall_handle="rubbish")
        [answer] = await scene.call("RecallMessage", rubbish)
        assert answer.status.code == m.Code.INTERNAL_SERVER_ERROR


async def test_an_unknown_topic(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        request = m.QueryRouteRequest(topic=m.Resource(name="nothing"), endpoints=ENDPOINTS)
        [answer] = await scene.call("QueryRoute", request)
        assert answer.status.code == m.Code.TOPIC_NOT_FOUND
        [answer] = await scene.call("SendMessage", m.SendMessageRequest(messages=[message("nothing", b"x")]))
        assert answer.status.code == m.Code.TOPIC_NOT_FOUND
        [first, _] = await scene.call("ReceiveMessage", receive_request("nothing", GROUP), timeout=8.0)
        assert first.status.code == m.Code.TOPIC_NOT_FOUND
        await scene.create_topic("nothing")
        await scene.send_one(message("nothing", b"x"))


async def test_a_broker_that_does_not_exist(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        request = receive_request("orders", GROUP, broker="broker-x")
        [first, _] = await scene.call("ReceiveMessage", request, timeout=8.0)
        assert first.status.code == m.Code.BAD_REQUEST
        await scene.send_one(message("orders", b"x"))
        [got] = await receive(scene, "orders")
        words = got.system_properties.receipt_handle.split(" ")
        got.system_properties.receipt_handle = " ".join([*words[:5], "broker-x", *words[6:]])
        [result] = await scene.acknowledge(GROUP, got)
        assert result.status.code == m.Code.INVALID_RECEIPT_HANDLE


async def test_a_broker_that_restarts(make_scene: MakeScene) -> None:
    async with make_scene() as scene:
        await scene.join("c@1", consumer_settings(GROUP, "orders"))
        await scene.send_one(message("orders", b"before"))
        got = await receive(scene, "orders")
        await scene.restart_broker()
        assert [each.status.code for each in await scene.acknowledge(GROUP, *got)] == [m.Code.OK]
        for number in range(8):
            await scene.send_one(message("orders", b"%d" % number))
        assert bodies(await receive(scene, "orders")) == [b"%d" % number for number in range(8)]
