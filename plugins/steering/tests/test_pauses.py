"""Queues, topics and functions are paused and resumed, while all else goes on."""

from __future__ import annotations

import pytest
from mqframe_steering.pauses import set_paused
from steered_scenes import GROUP, SteeredScene

from mqframe import AsyncAdmin, ConsumeResult, FixError, MessageQueue
from mqframe.client.consuming.group.subscriptions import SubscriptionTable


def queue(number: int, topic: str = "orders") -> MessageQueue:
    return MessageQueue(topic, "broker-a", number)


@pytest.mark.parametrize("ordered", [False, True], ids=["concurrent", "ordered"])
async def test_of_a_paused_queue_nothing_is_pulled_and_others_go_on(ordered: bool) -> None:
    async with SteeredScene() as scene:
        got: list[bytes] = []
        consumer = scene.make(ordered=ordered)
        consumer.subscribe("orders", "*", lambda message: got.append(message.body))
        await scene.open(consumer)
        await scene.until(lambda: scene.owns(consumer, 4))
        consumer.pause([queue(1)])
        assert consumer.paused == [queue(1)]
        # A pull that waits at its broker may still bring something.
        await scene.send("orders", b"under way", queue_id=1)
        await scene.until(lambda: got == [b"under way"])
        for number in range(4):
            await scene.send("orders", b"%d" % number, queue_id=number)
        await scene.until(lambda: len(got) == 4)
        await scene.pass_time(60.0)
        assert sorted(got[1:]) == [b"0", b"2", b"3"]
        consumer.resume([queue(1)])
        assert consumer.paused == []
        await scene.until(lambda: got[4:] == [b"1"])


@pytest.mark.parametrize("mode", ["pull", "pop"])
async def test_a_handler_is_paused_with_all_that_it_listens_to(mode: str) -> None:
    async with SteeredScene(topics={"orders": 2, "letters": 1, "invoices": 1}) as scene:
        got: list[tuple[str, bytes]] = []
        consumer = scene.make(mode=mode)

        @consumer.on("orders")
        @consumer.on("letters")
        async def handle(message) -> None:
            got.append((message.topic, message.body))

        consumer.subscribe("invoices", "*", lambda message: got.append((message.topic, message.body)))
        consumer.pause([handle])
        await scene.open(consumer)
        for topic in ("orders", "letters", "invoices"):
            await scene.send(topic, b"x")
        await scene.until(lambda: got == [("invoices", b"x")])
        await scene.pass_time(60.0)
        assert got == [("invoices", b"x")]
        if mode == "pull":
            assert consumer.paused == [queue(0, "letters"), queue(0), queue(1)]
        consumer.resume([handle])
        await scene.until(lambda: sorted(got[1:]) == [("letters", b"x"), ("orders", b"x")])
        consumer.pause(["letters"])
        await scene.pass_time(30.0)  # for pulls and pops that wait at their broker
        await scene.send("letters", b"y")
        await scene.send("orders", b"y")
        await scene.until(lambda: got[3:] == [("orders", b"y")])
        await scene.pass_time(60.0)
        assert len(got) == 4
        consumer.resume(["letters"])
        await scene.until(lambda: got[4:] == [("letters", b"y")])


async def test_a_topic_stays_paused_whichever_queues_of_it_come() -> None:
    async with SteeredScene() as scene:
        got: list[bytes] = []
        first, second = scene.make("m1"), scene.make("m2")
        for each in (first, second):
            each.subscribe("orders", "*", lambda message: got.append(message.body))
        await scene.open(first)
        await scene.open(second)
        await scene.until(lambda: scene.owns(first, 2) and scene.owns(second, 2))
        first.pause(["orders"])
        await scene.close(second)
        await scene.until(lambda: scene.owns(first, 4))
        assert first.paused == first.queues
        await scene.pass_time(30.0)
        for number in range(4):
            await scene.send("orders", b"%d" % number, queue_id=number)
        await scene.pass_time(60.0)
        assert got == []
        first.resume(["orders"])
        await scene.until(lambda: len(got) == 4)


async def test_what_failed_before_waits_as_long_as_its_handler_is_paused() -> None:
    async with SteeredScene() as scene:
        got: list[tuple[bytes, int]] = []

        async def handle(message):
            got.append((message.body, message.reconsume_times))
            return ConsumeResult.SUCCESS if message.reconsume_times else ConsumeResult.RECONSUME_LATER

        consumer = scene.make()
        consumer.subscribe("orders", "*", handle)
        await scene.open(consumer)
        await scene.send("orders", b"x")
        await scene.until(lambda: got)
        consumer.pause([handle])
        await scene.pass_time(300.0)
        assert got == [(b"x", 0)]
        consumer.resume([handle])
        await scene.until(lambda: got[1:] == [(b"x", 1)])


async def test_pauses_are_seen_by_operators() -> None:
    async with SteeredScene() as scene:
        consumer = scene.make()
        consumer.subscribe("orders", "*", lambda message: None)
        await scene.open(consumer)
        await scene.until(lambda: scene.owns(consumer, 4))
        consumer.pause([queue(2), queue(0)])
        async with AsyncAdmin(nameserver=scene.nameserver, clock=scene.clock) as admin:
            info = await scene.finish(admin.members.running_info(GROUP, consumer.client_id))
        assert info.properties["MQFRAME_PAUSED_QUEUES"] == "orders/broker-a/0 orders/broker-a/2"


async def test_what_is_not_read_here_cannot_be_paused() -> None:
    async with SteeredScene() as scene:
        consumer = scene.make()

        @consumer.on("orders", "paid")
        async def paid(message) -> None: ...

        @consumer.on("orders", "new")
        async def new(message) -> None: ...

        for wrong, match in (
            ("letters", "'letters' cannot be paused: it is no topic here"),
            (paid, "paid cannot be paused: .* where several share a topic, pause the topic"),
            (queue(0), "is not assigned to this consumer"),
        ):
            with pytest.raises(FixError, match=match):
                consumer.pause(["orders", wrong])
        with pytest.raises(FixError, match="alone: give a list"):
            consumer.pause("orders")
        await scene.open(consumer)
        await scene.until(lambda: scene.owns(consumer, 4))
        assert consumer.paused == [], "where one was wrong nothing was paused"
        with pytest.raises(FixError, match="perhaps another member has it now"):
            consumer.resume([queue(9)])


def test_pausing_twice_is_pausing_once() -> None:
    table: SubscriptionTable = SubscriptionTable({"orders": object()})
    for _ in range(2):
        set_paused(table, None, ["orders"], paused=True)
    set_paused(table, None, ["orders", "letters"], paused=False)
    assert table.paused == []
