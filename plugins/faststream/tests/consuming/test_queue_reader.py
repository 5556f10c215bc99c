"""Queues that a subscriber names: where they begin, their order, what fails, and what is kept."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest
from faststream import AckPolicy
from faststream.exceptions import FeatureNotSupportedException, NackMessage, RejectMessage, StopConsume
from mqframe_faststream import MqframeBroker, MqframeMessage, OptionError, ReplyTimeout
from mqframe_testing.cluster import AsyncCluster

from mqframe import (
    AsyncAdmin,
    AsyncPuller,
    ClientSettings,
    ConsumerSettings,
    MessageQueue,
    RequestFailed,
)

QUICK = ConsumerSettings(suspend_current_queue_time_millis=10)


def queue(topic, number=0):
    return MessageQueue(topic, "broker-a", number)


async def kept(server, group, *queues):
    """The offsets that the broker holds for `group`."""
    async with AsyncPuller(group, nameserver=server.nameserver) as puller:
        return [await puller.committed(each) for each in queues]


async def letters(server, group):
    async with AsyncAdmin(nameserver=server.nameserver) as admin:
        return [json.loads(letter.message.body) for letter in await admin.dead_letters.list(group)]


class TestReading:
    async def test_named_queues_are_read_each_in_its_order_and_no_others(
        self, make, running, topic, seen, server
    ) -> None:
        broker = make(topic_queues=3)

        @broker.subscriber(queues=[queue(topic, 0), queue(topic, 2)], max_workers=2, group=f"g-{topic}")
        async def handle(value: int, message: MqframeMessage) -> None:
            seen((message.messages[0].queue_id, value))

        async with running(broker):
            for value in range(9):
                await broker.publish(value, topic, queue=queue(topic, value % 3))
            await seen.take(6)
        assert [value for number, value in seen.all if number == 0] == [0, 3, 6]
        assert [value for number, value in seen.all if number == 2] == [2, 5, 8]
        assert await kept(server, f"g-{topic}", queue(topic, 0), queue(topic, 2)) == [3, 3]

    async def test_the_reader_is_no_member_of_the_group(self, make, running, topic, seen, server) -> None:
        server.create_topic(topic, queues=1)
        reading, sharing = make(), make()

        @reading.subscriber(queues=[queue(topic)], group=f"g-{topic}")
        async def read(value: int) -> None:
            seen(("read", value))

        @sharing.subscriber(topic, group=f"g-{topic}")
        async def share(value: int) -> None:
            seen(("share", value))

        async with running(reading), running(sharing):
            await sharing.publish(1, topic)
            assert sorted(await seen.take(2)) == [("read", 1), ("share", 1)]
            async with AsyncAdmin(nameserver=server.nameserver) as admin:
                members = (await admin.members.consumers(f"g-{topic}")).connection_set
        assert len(members) == 1

    async def test_tags_choose_and_what_they_leave_out_is_passed(
        self, make, running, topic, seen, server
    ) -> None:
        broker = make()

        @broker.subscriber(queues=[queue(topic)], tags="paid", group=f"g-{topic}")
        async def handle(value: int) -> None:
            seen(value)

        async with running(broker):
            for value, tag in enumerate(["open", "paid", "open", "paid", "open"]):
                await broker.publish(value, topic, tag=tag, queue=queue(topic))
            assert await seen.take(2) == [1, 3]

    async def test_batches_come_as_lists(self, make, running, topic, seen, server) -> None:
        server.create_topic(topic, queues=1)
        broker = make()
        async with running(broker):
            for value in range(7):
                await broker.publish(value, topic)
            subscriber = broker.subscriber(
                queues={queue(topic): 0}, batch=True, max_records=3, group=f"g-{topic}", persistent=False
            )

            @subscriber
            async def handle(values: list[int]) -> None:
                seen(values)

            async with subscriber:
                assert await seen.take(3) == [[0, 1, 2], [3, 4, 5], [6]]

    async def test_so_many_calls_are_under_way_at_once_as_there_are_workers(
        self, make, running, topic, seen
    ) -> None:
        broker = make(topic_queues=3)
        under_way, go = 0, asyncio.Event()

        @broker.subscriber(queues=[queue(topic, number) for number in range(3)], max_workers=2)
        async def handle(value: int) -> None:
            nonlocal under_way
            under_way += 1
            seen(under_way)
            await go.wait()
            under_way -= 1

        async with running(broker):
            for value in range(6):
                await broker.publish(value, topic, queue=queue(topic, value % 3))
            await seen.take(2)
            go.set()
            await seen.take(4)
        assert max(seen.all) == 2


class TestBeginnings:
    @pytest.mark.parametrize(("begin", "values"), [("first", [0, 1, 2]), ("last", [2]), ("moment", [1, 2])])
    async def test_a_new_group_begins_as_it_says(
        self, make, running, topic, seen, server, begin, values
    ) -> None:
        server.create_topic(topic, queues=1)
        broker = make()
        async with running(broker):
            await broker.publish(0, topic)
            async with AsyncPuller(nameserver=server.nameserver) as puller:
                first = (await puller.pull(queue(topic), 0)).messages[0].store_timestamp
            moment = await after(first)
            await broker.publish(1, topic)
            subscriber = broker.subscriber(
                queues=[queue(topic)],
                group=f"g-{topic}",
                consume_from=moment if begin == "moment" else begin,
                persistent=False,
            )

            @subscriber
            async def handle(value: int) -> None:
                seen(value)

            async with subscriber:
                await broker.publish(2, topic)
                assert await seen.take(len(values)) == values

    async def test_a_given_offset_counts_at_each_start_and_none_goes_on_where_the_group_is(
        self, make, running, topic, seen, server
    ) -> None:
        server.create_topic(topic, queues=1)
        for begin, values in [(3, [3, 4]), (3, [3, 4]), (None, [5]), (4, [4, 5])]:
            broker = make(group=f"g-{topic}")

            @broker.subscriber(queues={queue(topic): begin})
            async def handle(value: int) -> None:
                seen(value)

            if not seen.all:
                async with broker:
                    for value in range(5):
                        await broker.publish(value, topic)
            async with running(broker):
                if begin is None:
                    await broker.publish(5, topic)
                assert await seen.take(len(values)) == values
        assert await kept(server, f"g-{topic}", queue(topic)) == [6]

    async def test_an_offset_that_is_not_there_becomes_the_nearest(
        self, make, running, topic, seen, server, until, caplog
    ) -> None:
        server.create_topic(topic, queues=1)
        broker = make(group=f"g-{topic}")

        @broker.subscriber(queues={queue(topic): 1000})
        async def handle(value: int) -> None:
            seen(value)

        async with broker:
            await broker.publish(0, topic)
        async with running(broker):
            await until(lambda: any("not hold the offset" in each.getMessage() for each in caplog.records))
            await broker.publish(1, topic)
            assert await seen.take() == [1]

    async def test_a_subscriber_stops_and_starts_while_the_broker_runs(
        self, make, running, topic, seen, server
    ) -> None:
        server.create_topic(topic, queues=1)
        broker = make(group=f"g-{topic}")

        @broker.subscriber(queues=[queue(topic)])
        async def handle(value: int) -> None:
            seen(value)

        (subscriber,) = broker.subscribers
        async with running(broker):
            await broker.publish(0, topic)
            await seen.take()
            await subscriber.stop()
            assert await kept(server, f"g-{topic}", queue(topic)) == [1]
            await broker.publish(1, topic)
            await subscriber.start()
            await broker.publish(2, topic)
            await seen.take(2)
        assert seen.all == [0, 1, 2]


class TestFailures:
    async def test_what_fails_is_tried_again_in_its_place(self, make, running, topic, seen, server) -> None:
        broker = make(consumer=QUICK, group=f"g-{topic}")

        @broker.subscriber(queues=[queue(topic)])
        async def handle(value: int, message: MqframeMessage) -> None:
            seen((value, message.reconsume_times))
            if value == 1 and message.reconsume_times == 0:
                raise RuntimeError("not yet")
            if value == 1 and message.reconsume_times == 1:
                raise NackMessage

        async with running(broker):
            for value in range(3):
                await broker.publish(value, topic, queue=queue(topic))
            assert await seen.take(5) == [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0)]
        assert await letters(server, f"g-{topic}") == []

    async def test_what_fails_too_often_is_rejected_or_cannot_be_decoded_is_a_dead_letter(
        self, make, running, topic, seen, server
    ) -> None:
        broker = make(consumer=QUICK, group=f"g-{topic}")

        @broker.subscriber(queues=[queue(topic)], max_reconsume_times=1)
        async def handle(value: int, message: MqframeMessage) -> None:
            seen((value, message.reconsume_times))
            if value == 1:
                raise RuntimeError("never")
            if value == 2:
                raise RejectMessage

        async with running(broker):
            for value in (0, 1, 2, "none", 3):
                await broker.publish(json.dumps(value).encode(), topic, queue=queue(topic))
            assert await seen.take(5) == [(0, 0), (1, 0), (1, 1), (2, 0), (3, 0)]
        assert sorted(await letters(server, f"g-{topic}"), key=str) == [1, 2, "none"]
        assert await kept(server, f"g-{topic}", queue(topic)) == [5]

    @pytest.mark.parametrize("choice", ["drop", "retry"])
    async def test_bodies_that_cannot_be_decoded_are_treated_as_the_settings_say(
        self, make, running, topic, seen, server, choice
    ) -> None:
        settings = ConsumerSettings(suspend_current_queue_time_millis=10, on_decode_error=choice)
        broker = make(consumer=settings, group=f"g-{topic}")
        tried = 0

        def count(message: MqframeMessage) -> bool:
            nonlocal tried
            tried += 1
            return True

        subscriber = broker.subscriber(queues=[queue(topic)], max_reconsume_times=2)

        @subscriber(filter=count)
        async def handle(value: int) -> None:
            seen(value)

        async with running(broker):
            await broker.publish("none", topic, queue=queue(topic))
            await broker.publish(1, topic, queue=queue(topic))
            assert await seen.take() == [1]
        assert tried == (2 if choice == "drop" else 4)
        assert len(await raw_letters(server, f"g-{topic}")) == (0 if choice == "drop" else 1)

    async def test_with_a_policy_of_ack_the_queue_goes_on(self, make, running, topic, seen, server) -> None:
        broker = make(ack_policy=AckPolicy.ACK, group=f"g-{topic}")

        @broker.subscriber(queues=[queue(topic)])
        async def handle(value: int) -> None:
            seen(value)
            raise RuntimeError("no")

        async with running(broker):
            for value in range(3):
                await broker.publish(value, topic, queue=queue(topic))
            assert await seen.take(3) == [0, 1, 2]
        assert await kept(server, f"g-{topic}", queue(topic)) == [3]

    async def test_by_hand_the_queue_waits_and_what_nobody_decided_comes_again(
        self, make, topic, seen, running, server
    ) -> None:
        server.create_topic(topic, queues=1)
        held: list[MqframeMessage] = []
        for _ in range(2):
            broker = make(ack_policy=AckPolicy.MANUAL, group=f"g-{topic}")

            @broker.subscriber(queues=[queue(topic)])
            async def handle(value: int, message: MqframeMessage) -> None:
                held.append(message)
                seen(value)

            async with running(broker):
                if not seen.all:
                    await broker.publish(1, topic)
                    await broker.publish(2, topic)
                    await seen.take()
                    await held[0].ack()
                    await seen.take()  # nobody decides about it
                else:
                    await seen.take()
                    await held[-1].ack()
        assert seen.all == [1, 2, 2]
        assert await kept(server, f"g-{topic}", queue(topic)) == [2]

    async def test_who_asks_hears_that_the_handler_failed_and_the_queue_goes_on(
        self, make, running, topic, seen
    ) -> None:
        broker = make(group=f"g-{topic}")

        @broker.subscriber(queues=[queue(topic)])
        async def handle(value: str) -> str:
            seen(value)
            if value == "tea?":
                raise KeyError("tea")
            return "here"

        async with running(broker):
            with pytest.raises(RequestFailed, match="KeyError: 'tea'"):
                await broker.request("tea?", topic, queue=queue(topic), timeout=30)
            reply = await broker.request("coffee?", topic, queue=queue(topic), timeout=30)
            assert await reply.decode() == "here"
        assert seen.all == ["tea?", "coffee?"]

    async def test_a_request_that_nobody_waits_for_any_more_is_not_handled(
        self, make, running, topic, seen, server
    ) -> None:
        server.create_topic(topic, queues=1)
        asking, broker = make(), make(group=f"g-{topic}")

        @broker.subscriber(queues={queue(topic): 0})
        async def handle(value: str) -> str:
            seen(value)
            return "answer"

        async with asking:
            with pytest.raises(ReplyTimeout):
                await asking.request("too late", topic, timeout=0.2)
            await asking.publish("in time", topic)
        async with running(broker):
            assert await seen.take() == ["in time"]


class TestOutages:
    async def test_a_queue_is_read_on_when_its_broker_is_back(self, topic, seen, until, caplog) -> None:
        async with asyncio.timeout(120), AsyncCluster() as cluster:
            await cluster.create_topic(topic, queues=1)
            quick = ClientSettings(patience_seconds=0, persist_offsets_seconds=0.05)
            broker = MqframeBroker(cluster.nameserver, group=f"g-{topic}", client=quick)

            @broker.subscriber(queues=[queue(topic)])
            async def handle(value: int) -> None:
                seen(value)

            async with broker:
                await broker.start()
                await broker.publish(0, topic)
                await seen.take()
                await cluster.stop_broker()
                await until(lambda: any("is not read" in each.getMessage() for each in caplog.records))
                await cluster.start_broker()
                async with MqframeBroker(cluster.nameserver) as publisher:
                    await publisher.publish(1, topic)
                await seen.take()
            async with AsyncPuller(f"g-{topic}", nameserver=cluster.nameserver) as puller:
                assert await puller.committed(queue(topic)) == 2
        assert seen.all == [0, 1]


class TestStops:
    async def test_a_stop_waits_for_the_handler_and_what_waits_is_left(
        self, make, topic, seen, server, until
    ) -> None:
        server.create_topic(topic, queues=1)
        broker = make(group=f"g-{topic}")
        go = asyncio.Event()

        @broker.subscriber(queues=[queue(topic)])
        async def handle(value: int) -> None:
            seen(value)
            await go.wait()
            seen("done")

        async with broker:
            await broker.start()
            await broker.publish(0, topic)
            await broker.publish(1, topic)
            await seen.take()
            stopping = asyncio.ensure_future(broker.subscribers[0].stop())
            await asyncio.sleep(0)
            go.set()
            await asyncio.wait_for(stopping, 60)
        assert seen.all == [0, "done"]
        assert await kept(server, f"g-{topic}", queue(topic)) == [1]

    @pytest.mark.parametrize(("policy", "done"), [(AckPolicy.ACK, 1), (AckPolicy.NACK_ON_ERROR, 0)])
    async def test_a_handler_may_stop_its_subscriber(
        self, make, running, topic, seen, server, until, policy, done
    ) -> None:
        server.create_topic(topic, queues=1)
        broker = make(group=f"g-{topic}")

        @broker.subscriber(queues={queue(topic): 0}, ack_policy=policy)
        async def handle(value: int) -> None:
            seen(value)
            raise StopConsume

        (subscriber,) = broker.subscribers
        async with broker:
            for value in range(2):
                await broker.publish(value, topic)
        async with running(broker):
            await seen.take()
            await until(lambda: not subscriber.running)
        assert seen.all == [0]
        assert await kept(server, f"g-{topic}", queue(topic)) == [done]

    async def test_what_fails_while_it_stops_is_not_done_with(self, make, topic, seen, server) -> None:
        server.create_topic(topic, queues=1)
        broker = make(group=f"g-{topic}")

        @broker.subscriber(queues={queue(topic): 0})
        async def handle(value: int) -> None:
            seen(value)
            raise RuntimeError("no")

        async with broker:
            await broker.start()
            await broker.publish(0, topic)
            await seen.take()
        assert await kept(server, f"g-{topic}", queue(topic)) in ([0], [None])


class TestRefusals:
    async def test_a_queue_that_the_topic_lacks_is_an_error_at_the_start(self, make, topic, server) -> None:
        server.create_topic(topic, queues=2)
        broker = make(group=f"g-{topic}")

        @broker.subscriber(queues=[queue(topic, 1), queue(topic, 2)])
        async def handle(value: int) -> None: ...

        with pytest.raises(OptionError, match="no queue broker-a/2; there are broker-a/0, broker-a/1"):
            async with broker:
                await broker.start()

    async def test_who_names_queues_has_a_group_of_its_own(self, make, topic) -> None:
        for first_names in (True, False):
            broker = make(group=f"g-{topic}")
            options = [{"queues": [queue(topic)]}, {"topic": topic}]
            for each in options if first_names else reversed(options):

                @broker.subscriber(**each)
                async def handle(value: int) -> None: ...

            with pytest.raises(OptionError, match="some name queues, others share them"):
                async with broker:
                    await broker.start()

    async def test_two_readers_of_a_group_and_topic_are_an_error(self, make, topic) -> None:
        broker = make(group=f"g-{topic}", topic_queues=2)
        for number in range(2):

            @broker.subscriber(queues=[queue(topic, number)])
            async def handle(value: int) -> None: ...

        with pytest.raises(OptionError, match="two subscribers with queues of topic"):
            async with broker:
                await broker.start()

    async def test_messages_of_named_queues_are_not_asked_for(self, make, running, topic) -> None:
        broker = make(group=f"g-{topic}")
        async with running(broker):
            subscriber = broker.subscriber(queues=[queue(topic)], persistent=False)
            await subscriber.start()
            with pytest.raises(FeatureNotSupportedException, match="with a pattern or queues"):
                await subscriber.get_one(timeout=1)


async def raw_letters(server, group):
    async with AsyncAdmin(nameserver=server.nameserver) as admin:
        return list(await admin.dead_letters.list(group))


async def after(stored_ms):
    """A moment behind the millisecond in which a message was stored."""
    while (now := datetime.now(UTC)).timestamp() * 1000 <= stored_ms + 1:
        await asyncio.sleep(0)
    return now
