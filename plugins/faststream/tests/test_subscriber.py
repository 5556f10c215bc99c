"""What becomes of messages: done, tried again, dead; in batches, in order, one by one, by hand."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from faststream import AckPolicy
from faststream.exceptions import (
    AckMessage,
    FeatureNotSupportedException,
    NackMessage,
    RejectMessage,
    StopConsume,
)
from mqframe_faststream import MqframeMessage

from mqframe import Admin, AsyncAdmin, FixError, Message, Producer

LIMIT = 60.0


class TestFailures:
    async def test_what_raises_comes_again_and_then_is_a_dead_letter(
        self, make, running, topic, seen, server
    ) -> None:
        broker = make(group=f"g-{topic}")

        @broker.subscriber(topic, max_reconsume_times=1)
        async def fails(value: int, message: MqframeMessage) -> None:
            seen((value, message.reconsume_times, message.topic))
            raise RuntimeError("no")

        async with running(broker):
            await broker.publish(1, topic)
            assert (await seen.take(2)) == [(1, 0, topic), (1, 1, topic)]
        assert dead_letters(server, f"g-{topic}", 1) == [1]

    async def test_log_lines_name_the_message_and_where_it_lies(
        self, make, running, topic, seen, caplog
    ) -> None:
        caplog.set_level("INFO")
        broker = make(group=f"g-{topic}")

        @broker.subscriber(topic)
        async def fails(value: int, message: MqframeMessage) -> None:
            seen(message.reconsume_times)
            if not message.reconsume_times:
                raise NackMessage

        async with running(broker):
            await broker.publish(7, topic, tag="paid", keys=["o-1"])
            assert (await seen.take(2)) == [0, 1]
        places = [record.place for record in caplog.records if getattr(record, "place", "")]
        assert places[0].startswith(f"{topic}/broker-a/")
        assert places[0].endswith("@0 key=o-1 tag=paid")
        assert places[-1] == f"%RETRY%g-{topic}/broker-a/0@0 key=o-1 tag=paid attempt=1"

    @pytest.mark.parametrize("body", ["no number", b"{broken"])
    async def test_a_body_that_is_not_what_the_handler_takes_is_a_dead_letter_at_once(
        self, make, running, topic, seen, server, body
    ) -> None:
        broker = make(group=f"g-{topic}")

        @broker.subscriber(topic)
        async def handle(value: int) -> None:
            seen(value)

        async with running(broker):
            headers = {"content-type": "application/json"} if isinstance(body, bytes) else {}
            await broker.publish(body, topic, headers=headers)
            await broker.publish(1, topic)
            assert (await seen.take(1)) == [1]
        (letter,) = letters_of(server, f"g-{topic}", 1)
        assert letter.message.body == (body if isinstance(body, bytes) else body.encode())
        assert letter.reason.startswith("faststream: ")

    async def test_rejected_messages_are_dead_letters_at_once(
        self, make, running, topic, seen, server
    ) -> None:
        broker = make(group=f"g-{topic}", ack_policy=AckPolicy.REJECT_ON_ERROR)

        @broker.subscriber(topic)
        async def fails(value: int) -> None:
            seen(value)
            raise RuntimeError("no")

        async with running(broker):
            await broker.publish(1, topic)
            await broker.publish(2, topic)
            await seen.take(2)
        assert sorted(dead_letters(server, f"g-{topic}", 2)) == [1, 2]
        assert sorted(seen.all) == [1, 2]

    @pytest.mark.parametrize("policy", [AckPolicy.ACK, AckPolicy.ACK_FIRST])
    async def test_with_ack_what_raises_is_done(self, make, running, topic, seen, policy) -> None:
        broker = make(group=f"g-{topic}", ack_policy=policy)

        @broker.subscriber(topic, ordered=True)
        async def fails(value: int) -> None:
            seen(value)
            raise RuntimeError("no")

        async with running(broker):
            for value in range(3):
                await broker.publish(value, topic, sharding_key="one queue")
            assert (await seen.take(3)) == [0, 1, 2]

    async def test_handlers_decide_by_what_they_raise(self, make, running, topic, seen, server) -> None:
        broker = make(group=f"g-{topic}")

        @broker.subscriber(topic, max_reconsume_times=5)
        async def decides(value: str, message: MqframeMessage) -> None:
            seen((value, message.reconsume_times))
            if value == "later" and message.reconsume_times == 0:
                raise NackMessage(delay_level=2)
            if value == "dead":
                raise RejectMessage
            if value == "done":
                raise AckMessage

        async with running(broker):
            for value in ("later", "dead", "done"):
                await broker.publish(json.dumps(value).encode(), topic)
            await seen.take(4)
        assert sorted(seen.all) == [("dead", 0), ("done", 0), ("later", 0), ("later", 1)]
        assert dead_letters(server, f"g-{topic}", 1) == ["dead"]

    async def test_a_broadcasting_member_drops_what_fails(self, make, running, topic, seen, tmp_path) -> None:
        from mqframe import ConsumerSettings

        broker = make(consumer=ConsumerSettings(offset_directory=tmp_path))

        @broker.subscriber(topic, broadcasting=True)
        async def fails(value: int) -> None:
            seen(value)
            raise RuntimeError("no")

        async with running(broker):
            await broker.publish(1, topic, sharding_key="k")
            await broker.publish(2, topic, sharding_key="k")
            assert (await seen.take(2)) == [1, 2]

    async def test_what_nobody_can_unpack_is_a_dead_letter(self, make, running, topic, seen, server) -> None:
        from mqframe import ClientSettings, ProducerSettings

        with Producer(
            "p", nameserver=server.nameserver, settings=ProducerSettings(compress_over_bytes=10)
        ) as producer:
            broker = make(group=f"g-{topic}", client=ClientSettings(unpacked_bytes_max=1000))

            @broker.subscriber(topic, ordered=True)
            async def handle(value: str) -> None:
                seen(value)

            async with running(broker):
                await asyncio.to_thread(producer.send, Message(topic, b"x" * 5000), sharding_key="k")
                await broker.publish("next", topic, sharding_key="k")
                assert await seen.take() == ["next"]


class TestOrder:
    async def test_what_fails_is_tried_again_in_its_place(self, make, running, topic, seen) -> None:
        from mqframe import ConsumerSettings

        broker = make(consumer=ConsumerSettings(suspend_current_queue_time_millis=10))

        @broker.subscriber(topic, ordered=True)
        async def handle(value: int, message: MqframeMessage) -> None:
            seen((value, message.reconsume_times))
            if value == 1 and message.reconsume_times < 2:
                raise RuntimeError("not yet")

        async with running(broker):
            for value in range(3):
                await broker.publish(value, topic, sharding_key="k")
            assert (await seen.take(5)) == [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0)]

    async def test_what_is_rejected_is_dead_and_the_queue_goes_on(
        self, make, running, topic, seen, server
    ) -> None:
        broker = make(group=f"g-{topic}")

        @broker.subscriber(topic, ordered=True, ack_policy=AckPolicy.REJECT_ON_ERROR)
        async def handle(value: int) -> None:
            seen(value)
            if value == 1:
                raise RuntimeError("never")

        async with running(broker):
            for value in range(3):
                await broker.publish(value, topic, sharding_key="k")
            assert (await seen.take(3)) == [0, 1, 2]
        assert dead_letters(server, f"g-{topic}", 1) == [1]


class TestBatches:
    async def test_handlers_get_lists(self, make, running, topic, seen) -> None:
        broker = make()

        @broker.subscriber(topic, batch=True, max_records=10, ordered=True)
        async def handle(values: list[int], message: MqframeMessage) -> None:
            assert [each.queue_offset for each in message.messages] == sorted(
                each.queue_offset for each in message.messages
            )
            assert [headers["n"] for headers in message.batch_headers] == [str(value) for value in values]
            seen(values)

        async with running(broker):
            for value in range(25):
                await broker.publish(value, topic, headers={"n": value}, sharding_key="k")
            while sum(map(len, seen.all)) < 25:
                await seen.take()
        assert [value for values in seen.all for value in values] == list(range(25))
        assert max(map(len, seen.all)) <= 10

    async def test_a_batch_that_fails_comes_again_whole(self, make, running, topic, seen) -> None:
        broker = make()

        @broker.subscriber(topic, batch=True, consume_from="first")
        async def handle(values: list[int], message: MqframeMessage) -> None:
            seen((sorted(values), message.reconsume_times))
            if message.reconsume_times == 0:
                raise RuntimeError("no")

        async with running(broker):
            await broker.publish_batch(1, 2, 3, topic=topic)
            got = set()
            while got != {1, 2, 3}:
                [(values, times)] = await seen.take()
                got |= set(values) if times else set()
        assert seen.all[0] == ([1, 2, 3], 0)


class TestByHand:
    async def test_a_handler_may_acknowledge_later_from_elsewhere(self, make, running, topic, seen) -> None:
        broker = make(ack_policy=AckPolicy.MANUAL)
        kept: list[MqframeMessage] = []

        @broker.subscriber(topic, ordered=True)
        async def handle(value: int, message: MqframeMessage) -> None:
            kept.append(message)
            seen(value)

        async with running(broker):
            await broker.publish(1, topic, sharding_key="k")
            await broker.publish(2, topic, sharding_key="k")
            await seen.take()
            assert seen.all == [1]
            await kept[0].ack()
            await seen.take()
            await kept[1].ack()
        assert seen.all == [1, 2]

    async def test_what_nobody_decided_comes_again_after_a_stop(self, make, topic, seen) -> None:
        async def story():
            for _ in range(2):
                broker = make(ack_policy=AckPolicy.MANUAL, group=f"g-{topic}")

                @broker.subscriber(topic)
                async def handle(value: int, message: MqframeMessage) -> None:
                    seen((value, message.reconsume_times))
                    if message.reconsume_times:
                        await message.ack()

                async with broker:
                    await broker.start()
                    if not seen.all:
                        await broker.publish(1, topic)
                    await seen.take()

        await asyncio.wait_for(story(), LIMIT)
        assert seen.all == [(1, 0), (1, 1)]

    async def test_what_raises_undecided_comes_again(self, make, running, topic, seen) -> None:
        broker = make(ack_policy=AckPolicy.MANUAL)

        @broker.subscriber(topic)
        async def handle(value: int, message: MqframeMessage) -> None:
            seen(message.reconsume_times)
            if message.reconsume_times == 0:
                raise RuntimeError("no")
            await message.nack(delay_level=1) if message.reconsume_times == 1 else await message.ack()

        async with running(broker):
            await broker.publish(1, topic)
            assert (await seen.take(3)) == [0, 1, 2]


class TestPopping:
    async def test_brokers_hand_out_single_messages_and_count_failures(
        self, make, running, topic, seen, server
    ) -> None:
        broker = make(group=f"g-{topic}")

        @broker.subscriber(topic, mode="pop", max_workers=4, max_reconsume_times=1)
        async def handle(value: int, message: MqframeMessage) -> None:
            seen((value, message.reconsume_times))
            if value == 1:
                raise RuntimeError("no")

        async with running(broker):
            for value in range(3):
                await broker.publish(value, topic)
            assert sorted(await seen.take(4)) == [(0, 0), (1, 0), (1, 1), (2, 0)]
            async with AsyncAdmin(nameserver=server.nameserver) as admin:
                (member,) = (await admin.members.consumers(f"g-{topic}")).connection_set
                info = await admin.members.running_info(f"g-{topic}", member.client_id)
            assert (info.properties["mode"], info.queues) == ("pop", {})
        assert dead_letters(server, f"g-{topic}", 1) == [1]

    async def test_what_was_published_while_it_was_away_is_still_there(
        self, make, running, topic, seen
    ) -> None:
        for value in range(2):
            broker = make(group=f"g-{topic}")

            @broker.subscriber(topic, mode="pop", mode_options={"invisible_seconds": 5})
            async def handle(value: int) -> None:
                seen(value)

            async with running(broker):
                await broker.publish(value, topic)
                assert (await seen.take(1)) == [value]
        assert seen.all == [0, 1]

    async def test_what_makes_no_sense_with_it_is_said_at_the_start(self, make, running, topic) -> None:
        broker = make(group=f"g-{topic}")

        @broker.subscriber(topic, mode="pop", broadcasting=True, ack_policy=AckPolicy.ACK)
        async def handle(value: int) -> None: ...

        with pytest.raises(FixError, match='broadcasting makes no sense with mode "pop"'):
            async with running(broker):
                pass


class TestKeys:
    async def test_each_key_keeps_its_order_and_one_that_fails_waits_alone(
        self, make, running, topic, seen
    ) -> None:
        broker = make(group=f"g-{topic}", send_hooks=["sharding_key"])

        @broker.subscriber(topic, mode="keyed", max_workers=8)
        async def handle(value: int, message: MqframeMessage) -> None:
            if value == 0 and message.reconsume_times == 0:
                raise RuntimeError("not yet")
            seen(value)

        async with running(broker):
            for value in range(12):
                await broker.publish(value, topic, sharding_key=f"key-{value % 3}")
            done = await seen.take(12)
        for key in range(3):
            assert [value for value in done if value % 3 == key] == list(range(key, 12, 3))


class TestOneByOne:
    async def test_get_one_and_iteration_ask_for_messages(self, make, running, topic) -> None:
        broker = make()
        async with running(broker):
            subscriber = broker.subscriber(topic, persistent=False)
            await subscriber.start()
            assert await subscriber.get_one(timeout=0.05) is None
            await broker.publish("a", topic, tag="t")
            first = await subscriber.get_one(timeout=10)
            assert first is not None
            assert (await first.decode(), first.tag) == ("a", "t")
            await first.nack()
            again = await subscriber.get_one(timeout=10)
            assert again is not None
            assert await again.decode() == "a"
            await again.ack()
            await broker.publish("b", topic)
            async for message in subscriber:
                assert await message.decode() == "b"
                with pytest.raises(FeatureNotSupportedException, match="dead letter"):
                    await message.reject()
                await message.ack()
                break
            await subscriber.stop()

    async def test_with_ack_first_they_are_done(self, make, running, topic) -> None:
        broker = make(ack_policy=AckPolicy.ACK_FIRST)
        async with running(broker):
            subscriber = broker.subscriber(topic, persistent=False)
            await subscriber.start()
            await broker.publish(1, topic)
            message = await subscriber.get_one(timeout=10)
            assert message is not None
            assert message.committed is not None
            await subscriber.stop()

    async def test_broadcasting_and_moments_are_not_asked_for(self, make, running, topic) -> None:
        broker = make()
        async with running(broker):
            subscriber = broker.subscriber(topic, broadcasting=True, persistent=False)
            await subscriber.start()
            with pytest.raises(FeatureNotSupportedException, match="one by one"):
                await subscriber.get_one(timeout=1)


class TestWorkers:
    @pytest.mark.parametrize("workers", [1, 3])
    async def test_so_many_calls_are_under_way_at_once(self, make, running, topic, seen, workers) -> None:
        broker = make()
        under_way = 0
        go = asyncio.Event()

        @broker.subscriber(topic, max_workers=workers)
        async def handle(value: int) -> None:
            nonlocal under_way
            under_way += 1
            seen(under_way)
            await go.wait()
            under_way -= 1

        async with running(broker):
            for value in range(6):
                await broker.publish(value, topic)
            await seen.take(workers)
            go.set()
            await seen.take(6 - workers)
        assert max(seen.all) == workers

    async def test_a_plain_function_runs_in_a_thread(self, make, running, topic, seen) -> None:
        import threading

        broker = make()

        @broker.subscriber(topic)
        def handle(value: int) -> int:
            loop.call_soon_threadsafe(seen, threading.current_thread() is threading.main_thread())
            return value

        loop: asyncio.AbstractEventLoop
        async with running(broker):
            loop = asyncio.get_running_loop()
            await broker.publish(1, topic)
            assert (await seen.take()) == [False]


class TestStops:
    async def test_a_handler_may_stop_its_subscriber(self, make, running, topic, seen, until) -> None:
        broker = make(group=f"g-{topic}")

        @broker.subscriber(topic)
        async def handle(value: int) -> None:
            seen(value)
            raise StopConsume

        @broker.subscriber(f"{topic}-other")
        async def other(value: int) -> None:
            seen(value)

        handle_subscriber = next(each for each in broker.subscribers if each.topic == topic)
        async with running(broker):
            await broker.publish(1, topic)
            await seen.take()
            await until(lambda: not handle_subscriber.running)
            await broker.publish(2, f"{topic}-other")
            assert (await seen.take()) == [2]

    async def test_a_subscriber_joins_and_leaves_while_the_broker_runs(
        self, make, running, topic, seen, server
    ) -> None:
        broker = make(group=f"g-{topic}")

        @broker.subscriber(f"{topic}-first")
        async def first(value: int) -> None:
            seen(("first", value))

        async with running(broker):
            subscriber = broker.subscriber(topic, persistent=False)

            @subscriber
            async def second(value: int) -> None:
                seen(("second", value))

            async with subscriber:
                await broker.publish(1, topic)
                await broker.publish(2, f"{topic}-first")
                await seen.take(2)
            await broker.publish(3, topic)
            await broker.publish(4, f"{topic}-first")
            await seen.take()
        assert sorted(seen.all) == [("first", 2), ("first", 4), ("second", 1)]


def dead_letters(server, group, count):
    """The bodies of so many dead letters of `group`."""
    return [json.loads(letter.message.body) for letter in letters_of(server, group, count)]


def letters_of(server, group, count):
    """So many dead letters of `group`."""
    until = time.monotonic() + 20
    with Admin(nameserver=server.nameserver) as admin:
        while time.monotonic() < until:
            letters = admin.dead_letters.list(group)
            if len(letters) >= count:
                return letters
            time.sleep(0.02)
    raise AssertionError(f"no {count} dead letters of {group} came")
