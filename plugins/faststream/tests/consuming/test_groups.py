"""One consumer for each group of an application."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from faststream import Path
from faststream.exceptions import FeatureNotSupportedException
from mqframe_faststream import MqframeMessage, OptionError

from mqframe import Admin, AsyncPuller


def started(broker):
    async def story():
        async with broker:
            await broker.start()

    asyncio.run(asyncio.wait_for(story(), 60))


async def test_topics_of_a_group_are_one_member(make, running, topic, seen, server) -> None:
    broker = make(group=f"g-{topic}")

    @broker.subscriber(topic, tags="a")
    async def one(value: int) -> None:
        seen(("one", value))

    @broker.subscriber(f"{topic}-2", max_workers=3)
    async def two(value: int) -> None:
        seen(("two", value))

    async with running(broker):
        await broker.publish(1, topic, tag="a")
        await broker.publish(2, topic, tag="b")
        await broker.publish(3, f"{topic}-2")
        await seen.take(2)
        with Admin(nameserver=server.nameserver) as admin:
            members = await asyncio.to_thread(admin.members.consumers, f"g-{topic}")
    assert sorted(seen.all) == [("one", 1), ("two", 3)]
    assert len(members.connection_set) == 1


def test_two_subscribers_of_a_topic_and_group_are_an_error(make, topic) -> None:
    broker = make(group="g")
    for _ in range(2):

        @broker.subscriber(topic)
        async def handle(value: int) -> None: ...

    with pytest.raises(OptionError, match="two subscribers of topic"):
        started(broker)


def test_subscribers_of_a_group_have_to_agree(make, topic) -> None:
    broker = make(group="g")

    @broker.subscriber(topic, ordered=True)
    async def one(value: int) -> None: ...

    @broker.subscriber(f"{topic}-2")
    async def two(value: int) -> None: ...

    with pytest.raises(OptionError, match="differ in ordered; say the same"):
        started(broker)


def test_where_a_group_begins_is_said_alike_also_by_the_broker(make, topic) -> None:
    broker = make(group="g", consume_from="first")

    @broker.subscriber(topic)
    async def one(value: int) -> None: ...

    @broker.subscriber(f"{topic}-2", consume_from=datetime(2026, 1, 1, tzinfo=UTC))
    async def two(value: int) -> None: ...

    with pytest.raises(OptionError, match="are of group g, and differ in consume_from; say"):
        started(broker)


async def test_each_group_begins_where_its_subscribers_say_or_else_the_broker(
    make, running, topic, seen
) -> None:
    broker = make(consume_from="first")
    begins = {"usual": {}, "first": {"consume_from": "first"}, "last": {"consume_from": "last"}}
    async with broker:
        await broker.publish(1, topic)

    def noting(name):
        async def handle(value: int) -> None:
            seen((name, value))

        return handle

    for name, options in begins.items():
        broker.subscriber(topic, group=f"{name}-{topic}", **options)(noting(name))

    async with running(broker):
        await broker.publish(2, topic)
        await seen.take(5)
    assert sorted(seen.all) == [("first", 1), ("first", 2), ("last", 2), ("usual", 1), ("usual", 2)]


async def test_two_applications_of_a_group_share_what_comes(make, topic, seen) -> None:
    async def story():
        brokers = [make(group=f"g-{topic}") for _ in range(2)]
        for broker in brokers:

            @broker.subscriber(topic)
            async def handle(value: int) -> None:
                seen(value)

        async with brokers[0], brokers[1]:
            for broker in brokers:
                await broker.start()
            for value in range(40):
                await brokers[0].publish(value, topic)
            await seen.take(40)

    await asyncio.wait_for(story(), 60)
    assert sorted(seen.all) == list(range(40))


async def test_each_group_gets_everything(make, running, topic, seen) -> None:
    broker = make()
    for group in ("a", "b"):

        @broker.subscriber(topic, group=f"{group}-{topic}")
        async def handle(value: int) -> None:
            seen(value)

    async with running(broker):
        await broker.publish(1, topic)
        assert (await seen.take(2)) == [1, 1]


async def test_a_busy_subscriber_leaves_room_for_the_others_of_its_group(make, running, topic, seen) -> None:
    broker = make(group=f"g-{topic}")
    go = asyncio.Event()

    @broker.subscriber(topic)
    async def busy(value: int) -> None:
        seen("busy")
        await go.wait()

    @broker.subscriber(f"{topic}-2")
    async def idle(value: int) -> None:
        seen("idle")

    async with running(broker):
        for _ in range(3):
            await broker.publish(1, topic)
        await seen.take()
        await broker.publish(1, f"{topic}-2")
        await seen.take()
        before = list(seen.all)
        go.set()
        await seen.take(2)
        assert before == ["busy", "idle"]


async def kept(server, group, topic):
    """The offsets that brokers hold for `group` in `topic`, in the order of queues."""
    async with AsyncPuller(group, nameserver=server.nameserver) as puller:
        return [await puller.committed(queue) for queue in await puller.queues(topic)]


def noting(seen, name):
    async def handle(value: int, rest: str = Path()) -> None:
        seen((name, rest))

    return handle


class TestPatterns:
    async def test_topics_that_are_there_and_that_come_later_are_followed_from_their_first_message(
        self, make, running, topic, seen, server
    ) -> None:
        server.create_topic(f"{topic}-eu", queues=1)
        server.create_topic(f"other-{topic}-eu", queues=1)
        broker = make(group=f"g-{topic}", pattern_seconds=0.05)

        @broker.subscriber(pattern=f"{topic}-{{region}}")
        async def handle(value: int, message: MqframeMessage, region: str = Path()) -> None:
            seen((region, value, message.topic))

        async with broker:
            await broker.publish(0, f"{topic}-eu")  # before the group began
        async with running(broker):
            await broker.publish(1, f"{topic}-eu")
            await broker.publish(1, f"other-{topic}-eu")
            assert await seen.take(1) == [("eu", 1, f"{topic}-eu")]
            server.create_topic(f"{topic}-us-west", queues=1)
            await broker.publish(2, f"{topic}-us-west")
            assert await seen.take(1) == [("us-west", 2, f"{topic}-us-west")]
        assert await kept(server, f"g-{topic}", f"{topic}-us-west") == [1]

    async def test_the_first_topic_may_come_after_the_start(self, make, running, topic, seen, server) -> None:
        broker = make(pattern_seconds=0.05)

        @broker.subscriber(pattern=f"{topic}-{{number}}")
        async def handle(value: str, number: int = Path()) -> None:
            seen((number + 1, value))

        assert broker.subscribers[0].group == f"faststream-{topic}-_number_"
        async with running(broker):
            server.create_topic(f"{topic}-7", queues=1)
            await broker.publish("x", f"{topic}-7")
            assert await seen.take(1) == [(8, "x")]

    async def test_what_is_tried_again_keeps_its_parts(self, make, running, topic, seen, server) -> None:
        server.create_topic(f"{topic}-eu", queues=1)
        broker = make(group=f"g-{topic}")

        @broker.subscriber(pattern=f"{topic}-{{region}}")
        async def handle(value: int, message: MqframeMessage, region: str = Path()) -> None:
            seen((region, message.reconsume_times))
            if not message.reconsume_times:
                raise RuntimeError("no")

        async with running(broker):
            await broker.publish(1, f"{topic}-eu")
            assert await seen.take(2) == [("eu", 0), ("eu", 1)]

    @pytest.mark.parametrize("options", [{"mode": "pop"}, {"ordered": True}, {"batch": True}])
    async def test_ways_to_consume_go_with_patterns(
        self, make, running, topic, seen, server, options
    ) -> None:
        broker = make(group=f"g-{topic}", pattern_seconds=0.05)

        @broker.subscriber(pattern=f"{topic}-*-{{region}}", **options)
        async def handle(value: object, region: str = Path()) -> None:
            seen((region, value))

        async with running(broker):
            for region in ("eu", "us"):
                server.create_topic(f"{topic}-x-{region}", queues=1)
                await broker.publish(1, f"{topic}-x-{region}")
            expected = [1] if "batch" in options else 1
            assert sorted(await seen.take(2)) == [("eu", expected), ("us", expected)]

    async def test_who_names_a_topic_has_it_and_who_leaves_leaves_the_others_theirs(
        self, make, running, topic, seen, server
    ) -> None:
        for name in ("a", "b"):
            server.create_topic(f"{topic}-{name}", queues=1)
        broker = make(group=f"g-{topic}", pattern_seconds=0.05)

        @broker.subscriber(pattern=f"{topic}-{{name}}")
        async def meant(value: int, name: str = Path()) -> None:
            seen(("meant", name, value))

        @broker.subscriber(f"{topic}-b")
        async def named(value: int) -> None:
            seen(("named", "b", value))

        follower = next(each for each in broker.subscribers if each.pattern)
        async with running(broker):
            for name in ("a", "b"):
                await broker.publish(1, f"{topic}-{name}")
            assert sorted(await seen.take(2)) == [("meant", "a", 1), ("named", "b", 1)]
            await follower.stop()
            await broker.publish(2, f"{topic}-a")
            await broker.publish(2, f"{topic}-b")
            assert await seen.take(1) == [("named", "b", 2)]
            await follower.start()
            assert await seen.take(1) == [("meant", "a", 2)]

    async def test_of_two_patterns_the_one_has_a_topic_that_says_more_of_it(
        self, make, running, topic, seen, server
    ) -> None:
        server.create_topic(f"{topic}-eu-1", queues=1)
        broker = make(group=f"g-{topic}", pattern_seconds=0.05)
        for name, pattern in {"less": f"{topic}-{{rest}}", "more": f"{topic}-eu-{{rest}}"}.items():
            broker.subscriber(pattern=pattern)(noting(seen, name))

        async with running(broker):
            await broker.publish(1, f"{topic}-eu-1")
            assert await seen.take(1) == [("more", "1")]
            for name in ("eu-2", "us"):
                server.create_topic(f"{topic}-{name}", queues=1)
                await broker.publish(1, f"{topic}-{name}")
            assert sorted(await seen.take(2)) == [("less", "us"), ("more", "2")]

    async def test_a_pattern_may_join_while_the_broker_runs(self, make, running, topic, seen, server) -> None:
        for name in ("a", "b"):
            server.create_topic(f"{topic}-{name}", queues=1)
        broker = make(group=f"g-{topic}", pattern_seconds=0.05)

        @broker.subscriber(f"{topic}-a")
        async def named(value: int) -> None:
            seen(("named", value))

        async with running(broker):
            await broker.publish(0, f"{topic}-b")
            subscriber = broker.subscriber(pattern=f"{topic}-{{name}}", persistent=False)

            @subscriber
            async def meant(value: int, name: str = Path()) -> None:
                seen((name, value))

            async with subscriber:
                await broker.publish(1, f"{topic}-b")
                await broker.publish(1, f"{topic}-a")
                assert sorted(await seen.take(2)) == [("b", 1), ("named", 1)]

    async def test_a_topic_that_is_gone_is_given_up_and_followed_again_when_it_comes_back(
        self, make, running, topic, seen, server, until, caplog
    ) -> None:
        caplog.set_level("INFO")
        for name in ("stays", "goes"):
            server.create_topic(f"{topic}-{name}", queues=1)
        broker = make(group=f"g-{topic}", pattern_seconds=0.02)
        broker.subscriber(pattern=f"{topic}-{{rest}}")(noting(seen, "meant"))

        async with running(broker):
            for name in ("stays", "goes"):
                await broker.publish(1, f"{topic}-{name}")
            assert sorted(await seen.take(2)) == [("meant", "goes"), ("meant", "stays")]
            with Admin(nameserver=server.nameserver) as admin:
                await asyncio.to_thread(admin.topics.delete, f"{topic}-goes")
            await until(lambda: any("a topic is gone" in each.getMessage() for each in caplog.records))
            await broker.publish(2, f"{topic}-stays")
            assert await seen.take() == [("meant", "stays")]
            server.create_topic(f"{topic}-goes", queues=1)
            await broker.publish(3, f"{topic}-goes")
            assert await seen.take() == [("meant", "goes")]

    async def test_name_servers_that_do_not_answer_for_a_while_are_asked_again(
        self, make, running, topic, seen, server, caplog
    ) -> None:
        broker = make(group=f"g-{topic}", pattern_seconds=0.05)

        @broker.subscriber(pattern=f"{topic}-{{region}}")
        async def handle(value: int, region: str = Path()) -> None:
            seen((region, value))

        async with running(broker):
            connection = broker.config.broker_config.groups.connection
            asked, failures = connection.topics, [OptionError("no"), OptionError("no")]

            async def fails_at_first() -> list[str]:
                if failures:
                    raise failures.pop()
                return await asked()

            connection.topics = fails_at_first
            server.create_topic(f"{topic}-eu", queues=1)
            await broker.publish(1, f"{topic}-eu")
            assert await seen.take() == [("eu", 1)]
        assert any("were not looked for" in record.getMessage() for record in caplog.records)

    async def test_messages_are_not_asked_for_by_a_pattern(self, make, running, topic) -> None:
        broker = make(group=f"g-{topic}")
        async with running(broker):
            subscriber = broker.subscriber(pattern=f"{topic}-{{region}}", persistent=False)
            await subscriber.start()
            with pytest.raises(FeatureNotSupportedException, match="with a pattern or queues"):
                await subscriber.get_one(timeout=1)
