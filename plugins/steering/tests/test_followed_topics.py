"""Consumers follow the topics that their patterns mean, on a real broker, on a clock that tests move."""

from __future__ import annotations

import pytest
from lite_scenes import LiteScene
from mqframe_steering.rules.follower import GONE_LOOKS
from steered_scenes import GROUP, SteeredScene

from mqframe import AsyncAdmin, AsyncPushConsumer, FixError, Message, RouteError
from mqframe.client.settings import ClientSettings

LOOK_SECONDS = 30.0
"""How often clients ask for routes, and for topics."""


class PatternScene(SteeredScene):
    """Topics of two regions, and what a handler got."""

    def __init__(self) -> None:
        super().__init__(topics={"orders-eu": 1, "orders-us": 1, "letters": 1})
        self.got: list[tuple[str, bytes]] = []

    async def handle(self, message) -> None:
        self.got.append((message.topic, message.body))

    def topics(self, consumer: AsyncPushConsumer) -> set[str]:
        return {queue.topic for queue in consumer.queues}


@pytest.mark.parametrize(
    "options", [{}, {"ordered": True}, {"mode": "pop"}], ids=["concurrent", "ordered", "pop"]
)
async def test_topics_that_are_there_and_that_come_are_followed_from_their_first_message_on(options) -> None:
    async with PatternScene() as scene:
        await scene.send("orders-eu", b"before")
        consumer = scene.make(consume_from="last", **options)
        consumer.subscribe("orders-*", "*", scene.handle)
        await scene.open(consumer)
        # What is sent from here on belongs to the group.
        for topic in ("orders-eu", "orders-us", "letters"):
            await scene.send(topic, b"1")
        await scene.until(lambda: sorted(scene.got) == [("orders-eu", b"1"), ("orders-us", b"1")])
        await scene.cluster.create_topic("orders-asia", 2)
        await scene.send("orders-asia", b"2")
        await scene.send("orders-asia", b"3", queue_id=1)
        await scene.until(lambda: len(scene.got) == 4)
        assert sorted(scene.got[2:]) == [("orders-asia", b"2"), ("orders-asia", b"3")]


async def test_a_consumer_may_begin_with_no_topic_at_all_and_be_told_of_filters() -> None:
    async with PatternScene() as scene:
        consumer = scene.make()

        @consumer.on("bills-{region}", "paid")
        async def paid(message) -> None:
            scene.got.append(("paid", message.body))

        @consumer.on("bills-{region}", "new || late")
        async def others(message) -> None:
            scene.got.append(("others", message.body))

        await scene.open(consumer)
        assert consumer.queues == []
        await scene.cluster.create_topic("bills-eu", 1)
        for tag in ("paid", "new", "other", "late"):
            await scene.send("bills-eu", tag.encode(), tag=tag)
        await scene.until(lambda: len(scene.got) == 3)
        assert sorted(scene.got) == [("others", b"late"), ("others", b"new"), ("paid", b"paid")]


async def test_topics_that_go_are_given_up_and_come_back() -> None:
    async with PatternScene() as scene:
        consumer = scene.make()
        consumer.subscribe("orders-*", "*", scene.handle)
        await scene.open(consumer)
        await scene.until(lambda: scene.topics(consumer) == {"orders-eu", "orders-us"})
        async with AsyncAdmin(nameserver=scene.nameserver, clock=scene.clock) as admin:
            await scene.finish(admin.topics.delete("orders-us"))
        await scene.until(
            lambda: scene.topics(consumer) == {"orders-eu"}, seconds=(GONE_LOOKS + 2) * LOOK_SECONDS, step=1.0
        )
        await scene.cluster.create_topic("orders-us", 1)
        await scene.send("orders-us", b"again")
        await scene.until(lambda: ("orders-us", b"again") in scene.got, seconds=200, step=1.0)


async def test_who_names_a_topic_has_it_and_of_patterns_who_says_most() -> None:
    async with PatternScene() as scene:
        consumer = scene.make()
        got: list[tuple[str, str]] = []

        def taking(name: str):
            return lambda message: got.append((name, message.topic))

        for name in ("*-us", "orders-*", "orders-eu"):
            consumer.subscribe(name, "*", taking(name))
        await scene.open(consumer)
        await scene.cluster.create_topic("shop-us", 1)
        for topic in ("orders-eu", "orders-us", "shop-us"):
            await scene.send(topic, b"x")
        await scene.until(lambda: len(got) == 3)
        assert sorted(got) == [("*-us", "shop-us"), ("orders-*", "orders-us"), ("orders-eu", "orders-eu")]


async def test_patterns_come_change_and_go_while_the_consumer_runs() -> None:
    async with PatternScene() as scene:
        consumer = scene.make()
        consumer.subscribe("letters", "*", scene.handle)
        await scene.open(consumer)
        await scene.until(lambda: scene.topics(consumer) == {"letters"})
        consumer.subscribe("orders-*", "*", scene.handle)
        await scene.until(lambda: len(scene.topics(consumer)) == 3)
        other: list[bytes] = []
        consumer.subscribe("orders-*", "*", lambda message: other.append(message.body))
        await scene.send("orders-eu", b"x")
        await scene.until(lambda: other == [b"x"])
        # One that was given up by name stays so; the others go with the pattern.
        consumer.unsubscribe("orders-eu")
        await scene.until(lambda: scene.topics(consumer) == {"letters", "orders-us"})
        await scene.pass_time(2 * LOOK_SECONDS)
        assert scene.topics(consumer) == {"letters", "orders-us"}
        consumer.unsubscribe("orders-*")
        await scene.until(lambda: scene.topics(consumer) == {"letters"})
        await scene.pass_time(2 * LOOK_SECONDS)
        assert scene.topics(consumer) == {"letters"}
        assert scene.got == []


async def test_two_members_follow_the_same_and_share_it() -> None:
    async with PatternScene() as scene:
        members = [scene.make(name) for name in ("m1", "m2")]
        for each in members:
            each.subscribe("orders-*", "*", scene.handle)
            await scene.open(each)
        await scene.cluster.create_topic("orders-asia", 4)
        await scene.until(lambda: sum(q.topic == "orders-asia" for each in members for q in each.queues) == 4)
        await scene.until(
            lambda: [sum(q.topic == "orders-asia" for q in each.queues) for each in members] == [2, 2]
        )
        for number in range(4):
            await scene.send("orders-asia", b"%d" % number, queue_id=number)
        await scene.until(lambda: len(scene.got) >= 4)
        await scene.pass_time(30.0)
        assert sorted(scene.got) == [("orders-asia", b"%d" % number) for number in range(4)]


async def test_lite_pull_consumers_follow_too() -> None:
    async with LiteScene() as scene:
        await scene.cluster.create_topic("orders-eu", 1)
        consumer = scene.make(consume_from="last")
        told: list[str] = []
        consumer.subscribe("orders-*", "*", on_revoked=lambda topic, queues: told.append(topic))
        await scene.open(consumer)
        await scene.producer.send(Message("orders-eu", b"1"))
        assert await scene.poll(consumer) == [b"1"]
        await scene.cluster.create_topic("orders-us", 1)
        await scene.producer.send(Message("orders-us", b"2"))
        assert await scene.poll(consumer, 2 * LOOK_SECONDS) == [b"2"]
        with pytest.raises(FixError, match="`subscribe`, which excludes `assign`"):
            consumer.assign(consumer.assignment)
        await scene.close(consumer)
        assert sorted(told) == ["orders-eu", "orders-us"]


async def test_what_is_wrong_is_said_at_once() -> None:
    async with PatternScene() as scene:
        consumer = scene.make()
        with pytest.raises(FixError, match="means every topic"):
            consumer.subscribe("*", "*", scene.handle)
        with pytest.raises(FixError, match="not a function"):
            consumer.subscribe("orders-*", "*", "handle")
        with pytest.raises(FixError, match="no subscription"):
            await consumer.start()
        nobody = AsyncPushConsumer(GROUP, client=ClientSettings(nameserver="127.0.0.1:1"))
        nobody.subscribe("orders-*", "*", scene.handle)
        with pytest.raises(RouteError):
            await nobody.start()
