"""Dead letters of a group in a cluster: read, filtered, sent again."""

from __future__ import annotations

import pytest
from mqframe_testing import ClusterScene

from mqframe import (
    AsyncAdmin,
    AsyncProducer,
    AsyncPushConsumer,
    ConsumeResult,
    FixError,
    Message,
    RouteError,
)
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.bodies import LockBody, QueueBody
from mqframe.core.requests.consumers import LockBatchMq
from mqframe.core.wire.loose_json import dumps

GROUP = "billing"
OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER


class DeadLetterScene(ClusterScene):
    """A cluster with topics `orders` and `refunds`, and a group that gives up what it gets."""

    def __init__(self, brokers: int = 1) -> None:
        super().__init__(brokers, topics={"orders": 2, "refunds": 1})
        self.consumers: list[AsyncPushConsumer] = []
        self.got: list[tuple[str, str, bytes, int]] = []
        self.gives_up = True

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))
        self.admin = await self.open(AsyncAdmin(nameserver=self.nameserver, clock=self.clock))

    async def join(self, group: str = GROUP) -> AsyncPushConsumer:
        client = ClientSettings(nameserver=self.nameserver, instance_name=f"m{len(self.consumers)}")
        consumer = AsyncPushConsumer(group, clock=self.clock, client=client, consume_from="first")

        async def listen(messages, context):
            (message,) = messages
            self.got.append((group, message.topic, message.body, message.reconsume_times))
            context.delay_level_when_next_consume = -1
            return LATER if group == GROUP and self.gives_up else OK

        for topic in ("orders", "refunds"):
            consumer.subscribe(topic, "*", listen)
        self.consumers.append(consumer)
        return await self.open(consumer)

    async def send(self, topic: str, body: bytes, **fields):
        return await self.producer.send(Message(topic, body, **fields))

    async def give_up(self, *messages) -> list:
        """Let the group give these messages up, half a minute apart; gives what was said of their sends."""
        if GROUP not in [consumer.group for consumer in self.consumers]:
            await self.join()
        results = []
        for topic, body, fields in messages:
            results.append(await self.send(topic, body, **fields))
            await self.until(lambda body=body: (GROUP, body) in [(each[0], each[2]) for each in self.got])
            await self.clock.aadvance(30.0)
        return results


THREE = [
    ("orders", b"a", {"tag": "paid", "keys": ["o-1"], "properties": {"colour": "red"}}),
    ("refunds", b"b", {"tag": "paid", "keys": ["o-1", "r-1"]}),
    ("orders", b"c", {"tag": "open"}),
]


def bodies(letters) -> list[bytes]:
    return [letter.message.body for letter in letters]


async def test_a_group_that_gave_nothing_up_has_none() -> None:
    async with DeadLetterScene() as scene:
        assert await scene.admin.dead_letters.list(GROUP) == []
        assert await scene.admin.dead_letters.open(GROUP) == []
        assert await scene.admin.dead_letters.get(GROUP, "0A") is None
        with pytest.raises(FixError, match="group name"):
            await scene.admin.dead_letters.list("no such/group")


async def test_they_can_be_read_until_they_are_closed() -> None:
    async with DeadLetterScene() as scene:
        await scene.give_up(*THREE)
        assert await scene.admin.dead_letters.open(GROUP) == []
        letters = await scene.admin.dead_letters.list(GROUP)
        assert bodies(letters) == [b"a", b"b", b"c"]
        assert [letter.topic for letter in letters] == ["orders", "refunds", "orders"]
        assert letters[0].message.properties["colour"] == "red"
        assert await scene.admin.dead_letters.close(GROUP) == ["broker-a"]
        with pytest.raises(FixError, match=r"may only be written.*mqframe dlq open billing"):
            await scene.admin.dead_letters.list(GROUP)
        assert await scene.admin.dead_letters.open(GROUP) == ["broker-a"]
        assert bodies(await scene.admin.dead_letters.list(GROUP)) == [b"a", b"b", b"c"]


async def test_filters_and_limits() -> None:
    async with DeadLetterScene() as scene:
        await scene.give_up(*THREE)
        await scene.admin.dead_letters.open(GROUP)
        read = scene.admin.dead_letters.list
        first, second, third = await read(GROUP)
        assert bodies(await read(GROUP, key="o-1")) == [b"a", b"b"]
        assert bodies(await read(GROUP, key=third.unique_key)) == [b"c"]
        assert bodies(await read(GROUP, key=second.id)) == [b"b"]
        assert bodies(await read(GROUP, tag="paid")) == [b"a", b"b"]
        assert bodies(await read(GROUP, topic="orders")) == [b"a", b"c"]
        assert bodies(await read(GROUP, max_count=2)) == [b"a", b"b"]
        times = [each.message.store_timestamp for each in (first, second, third)]
        assert bodies(await read(GROUP, begin_ms=times[1])) == [b"b", b"c"]
        assert bodies(await read(GROUP, end_ms=times[1])) == [b"a", b"b"]
        assert bodies(await read(GROUP, begin_ms=times[0] + 1, end_ms=times[2] - 1)) == [b"b"]


async def test_one_is_found_by_either_id_even_while_they_may_not_be_read() -> None:
    async with DeadLetterScene() as scene:
        sent = await scene.give_up(*THREE[:2])
        one = await scene.admin.dead_letters.get(GROUP, sent[0].message_id)
        assert (one.message.body, one.topic, one.place.broker_name) == (b"a", "orders", "broker-a")
        same = await scene.admin.dead_letters.get(GROUP, one.id)
        assert (same.id, same.place) == (one.id, one.place)
        assert await scene.admin.dead_letters.get(GROUP, "nonsense") is None
        # The first copy is no dead letter.
        assert await scene.admin.dead_letters.get(GROUP, sent[0].offset_message_id) is None


async def test_many_on_two_brokers_come_in_the_order_of_time() -> None:
    async with DeadLetterScene(brokers=2) as scene:
        messages = [("orders", b"%d" % n, {}) for n in range(8)]
        await scene.give_up(*messages)
        letters = await scene.admin.dead_letters.list(GROUP)
        assert bodies(letters) == [body for _, body, _ in messages]
        assert len({letter.place.broker_name for letter in letters}) == 2


async def test_sent_again_they_go_to_their_group_alone() -> None:
    async with DeadLetterScene() as scene:
        await scene.join("shipping")
        sent = await scene.give_up(*THREE)
        letters = await scene.admin.dead_letters.list(GROUP)
        scene.gives_up = False
        scene.got.clear()
        done = await scene.admin.dead_letters.resend(letters)
        assert [(each.topic, each.result is not None) for each in done] == [(f"%RETRY%{GROUP}", True)] * 3
        await scene.until(lambda: len(scene.got) == 3)
        await scene.clock.aadvance(10.0)
        assert sorted(scene.got) == [
            (GROUP, "orders", b"a", 0),
            (GROUP, "orders", b"c", 0),
            (GROUP, "refunds", b"b", 0),
        ]
        copy = await scene.admin.messages.by_unique_key(f"%RETRY%{GROUP}", sent[0].message_id)
        assert (copy.keys, copy.tag, copy.properties["colour"]) == (["o-1"], "paid", "red")
        assert copy.properties["MQFRAME_DEAD_LETTER"] == f"{GROUP}@{letters[0].id}"
        assert copy.born_timestamp == letters[0].message.born_timestamp
        assert copy.origin_message_id == sent[0].offset_message_id


async def test_sent_to_their_topic_everybody_gets_them() -> None:
    async with DeadLetterScene() as scene:
        await scene.join("shipping")
        await scene.give_up(THREE[0])
        scene.gives_up = False
        scene.got.clear()
        (done,) = await scene.admin.dead_letters.resend(
            await scene.admin.dead_letters.list(GROUP), to="topic"
        )
        assert done.topic == "orders"
        await scene.until(lambda: len(scene.got) == 2)
        assert sorted(scene.got) == [(GROUP, "orders", b"a", 0), ("shipping", "orders", b"a", 0)]


@pytest.mark.parametrize(("first", "second"), [("group", "group"), ("group", "topic"), ("topic", "group")])
async def test_nothing_is_sent_twice_unless_asked_for(first, second) -> None:
    async with DeadLetterScene() as scene:
        await scene.give_up(*THREE[:2])
        scene.gives_up = False
        scene.got.clear()
        one, two = await scene.admin.dead_letters.list(GROUP)
        await scene.admin.dead_letters.resend([one], to=first)
        await scene.clock.aadvance(1.0)
        done = await scene.admin.dead_letters.resend([one, two, one], to=second)
        assert [each.result is not None for each in done] == [False, True, False]
        await scene.clock.aadvance(5.0)
        assert sorted(body for _, _, body, _ in scene.got) == [b"a", b"b"]
        done = await scene.admin.dead_letters.resend([one], to=second, again=True)
        assert [each.result is not None for each in done] == [True]
        await scene.clock.aadvance(5.0)
        assert sorted(body for _, _, body, _ in scene.got) == [b"a", b"a", b"b"]


async def test_one_that_failed_again_is_a_dead_letter_of_its_own() -> None:
    async with DeadLetterScene() as scene:
        (sent,) = await scene.give_up(THREE[0])
        (first,) = await scene.admin.dead_letters.list(GROUP)
        await scene.admin.dead_letters.resend([first])
        await scene.until(lambda: len(scene.got) == 2)
        await scene.clock.aadvance(1.0)
        again, second = await scene.admin.dead_letters.list(GROUP)
        assert again.id == first.id
        assert (second.unique_key, second.topic) == (sent.message_id, "orders")
        done = await scene.admin.dead_letters.resend([first, second])
        assert [each.result is not None for each in done] == [False, True]


async def test_an_ordered_group_is_told_to_use_the_topic() -> None:
    async with DeadLetterScene() as scene:
        await scene.give_up(THREE[0])
        letters = await scene.admin.dead_letters.list(GROUP)
        lock = LockBody(scene.consumers[0].client_id, GROUP, [QueueBody("broker-a", 0, "orders")])
        await scene.client.ok(LockBatchMq(), dumps(lock))
        with pytest.raises(FixError, match="consumes in order"):
            await scene.admin.dead_letters.resend(letters)


async def test_a_wrong_target_is_no_target() -> None:
    async with DeadLetterScene() as scene:
        with pytest.raises(FixError, match="somewhere"):
            await scene.admin.dead_letters.resend([], to="somewhere")


async def test_a_topic_that_is_gone_is_an_error() -> None:
    async with DeadLetterScene() as scene:
        (sent,) = await scene.give_up(THREE[1])
        letter = await scene.admin.dead_letters.get(GROUP, sent.message_id)
        scene.consumers[0].unsubscribe("refunds")
        await scene.admin.topics.delete("refunds")
        with pytest.raises(RouteError, match="refunds"):
            await scene.admin.dead_letters.resend([letter], to="topic")
