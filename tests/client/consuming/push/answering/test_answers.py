"""A handler's failure reaches who asked, and the request is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from mqframe_testing import AsyncCluster, Cluster, ManualClock

from mqframe import (
    AsyncAdmin,
    AsyncProducer,
    AsyncPushConsumer,
    ConsumeResult,
    ConsumerSettings,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
    RequestFailed,
    reply_to,
)
from mqframe.client.settings import ClientSettings
from mqframe.core.messages.typed import content_type

GROUP = "answers"


class Question(msgspec.Struct):
    number: int


class Scene:
    def __init__(self, cluster: AsyncCluster, clock: ManualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.open: list[Any] = []
        self.seen: list[bytes] = []

    def client(self, name: str) -> ClientSettings:
        return ClientSettings(nameserver=self.cluster.nameserver, instance_name=name)

    async def start(self, client: Any) -> Any:
        await client.start()
        self.open.append(client)
        return client

    async def asking(self) -> AsyncProducer:
        made = AsyncProducer("asking", client=self.client("asking"), clock=self.clock)
        return await self.start(made)

    def consumer(self, group: str = GROUP, **options: Any) -> AsyncPushConsumer:
        return AsyncPushConsumer(
            group, client=self.client(group), clock=self.clock, consume_from="first", **options
        )

    async def finish(self, work: Any) -> Any:
        task = asyncio.ensure_future(work)
        while not task.done():
            await self.clock.aadvance(0.1)
        return await task

    async def pass_time(self, seconds: float) -> None:
        for _ in range(int(seconds)):
            await self.clock.aadvance(1.0)


@asynccontextmanager
async def staged() -> AsyncIterator[Any]:
    clock = ManualClock()
    async with AsyncCluster(clock=clock) as cluster:
        await cluster.create_topic("questions", 1)
        scene = Scene(cluster, clock)
        try:
            yield scene
        finally:
            for each in reversed(scene.open):
                await scene.finish(each.stop())


def question(body: bytes = b"tea") -> Message:
    return Message("questions", body)


@pytest.mark.parametrize("ordered", [False, True])
async def test_who_asks_hears_the_error_and_the_request_does_not_run_again(ordered, caplog) -> None:
    async with staged() as scene:
        consumer = scene.consumer(ordered=ordered)

        @consumer.on("questions")
        async def handle(message: ReceivedMessage) -> None:
            scene.seen.append(message.body)
            if message.body == b"tea":
                raise ValueError("no tea\n" + "x" * 600)

        await scene.start(consumer)
        asking = await scene.asking()
        with pytest.raises(RequestFailed, match="ValueError: no tea xxx") as caught:
            await scene.finish(asking.request(question(), timeout=300))
        assert len(str(caught.value)) < 650
        await scene.finish(asking.send(question(b"after")))
        await scene.pass_time(30)
        assert scene.seen == [b"tea", b"after"]
    (line,) = [r.getMessage() for r in caplog.records if "were not consumed" in r.getMessage()]
    assert "who waits is told" in line


@pytest.mark.parametrize("ordered", [False, True])
async def test_of_a_batch_that_fails_what_is_no_request_is_tried_again(ordered) -> None:
    async with staged() as scene:
        asking = await scene.asking()
        await scene.finish(asking.send(question(b"a")))
        waiting = asyncio.ensure_future(asking.request(question(b"b"), timeout=300))
        await scene.pass_time(2)
        consumer, came = scene.consumer(ordered=ordered), []

        @consumer.on("questions", batch_max=10)
        async def listen(messages, context):
            came.append([each.body for each in messages])
            if len(came) == 1:
                raise ValueError("not now")
            return ConsumeResult.SUCCESS

        await scene.start(consumer)
        with pytest.raises(RequestFailed, match="not now"):
            await scene.finish(waiting)
        await scene.pass_time(30)
        assert came == [[b"a", b"b"], [b"a"]]


@pytest.mark.parametrize("how", ["result", "level"])
async def test_a_handler_that_asks_for_another_try_gets_it_and_may_answer_then(how) -> None:
    async with staged() as scene:
        consumer, asking = scene.consumer(), await scene.asking()

        @consumer.on("questions")
        async def handle(message: ReceivedMessage, context: Any) -> ConsumeResult:
            scene.seen.append(message.body)
            if len(scene.seen) > 1:
                await asking.send(reply_to(message, b"at last"))
                return ConsumeResult.SUCCESS
            if how == "level":
                context.delay_level_when_next_consume = 1
                raise ValueError("not yet")
            return ConsumeResult.RECONSUME_LATER

        await scene.start(consumer)
        reply = await scene.finish(asking.request(question(), timeout=300))
        assert (reply.body, scene.seen) == (b"at last", [b"tea", b"tea"])


async def test_a_body_that_cannot_be_decoded_is_told_and_kept_as_a_dead_letter() -> None:
    async with staged() as scene:
        consumer = scene.consumer()

        @consumer.on("questions", type=Question)
        async def handle(value: Question) -> None:
            scene.seen.append(b"called")

        await scene.start(consumer)
        asking = await scene.asking()
        with pytest.raises(RequestFailed, match="DecodeError"):
            await scene.finish(asking.request(question(b'{"number": "x"}'), timeout=300))
        await scene.pass_time(5)
        assert scene.seen == []
        admin = await scene.start(AsyncAdmin(nameserver=scene.cluster.nameserver, clock=scene.clock))
        found = await scene.finish(admin.dead_letters.list(GROUP))
        assert [each.message.body for each in found] == [b'{"number": "x"}']
        assert "$.number" in found[0].reason


@pytest.mark.parametrize(
    "options", [{"broadcasting": True}, {"settings": ConsumerSettings(answers_requests=False)}]
)
async def test_who_only_looks_on_tells_nobody(options, tmp_path) -> None:
    async with staged() as scene:
        if "broadcasting" in options:
            options["settings"] = ConsumerSettings(offset_directory=str(tmp_path))
        looking, answering, asking = (
            scene.consumer("looking", **options),
            scene.consumer(),
            await scene.asking(),
        )
        failed = asyncio.Event()

        @looking.on("questions")
        async def look(message: ReceivedMessage) -> None:
            failed.set()
            raise ValueError("no disk")

        @answering.on("questions")
        async def answer(message: ReceivedMessage) -> None:
            await failed.wait()
            await asking.send(reply_to(message, b"an answer"))

        await scene.start(looking)
        await scene.start(answering)
        assert (await scene.finish(asking.request(question(), timeout=300))).body == b"an answer"


async def test_a_request_whose_sender_is_gone_comes_again_until_its_time_is_over(caplog) -> None:
    async with staged() as scene:
        asking = await scene.asking()
        waiting = asyncio.ensure_future(asking.request(question(), timeout=25))
        await scene.pass_time(1)
        scene.open.remove(asking)
        await scene.finish(asking.stop())
        with pytest.raises(Exception, match="stopped"):
            await waiting
        consumer = scene.consumer()

        @consumer.on("questions")
        async def handle(message: ReceivedMessage) -> None:
            scene.seen.append(message.body)
            raise ValueError("no tea")

        await scene.start(consumer)
        await scene.pass_time(120)
        assert scene.seen == [b"tea", b"tea"]  # again after 10 s, and after 30 more it is over
    lines = [r.getMessage() for r in caplog.records]
    assert any("could not be told" in line for line in lines)
    assert any("requests were dropped" in line for line in lines)


class Price(msgspec.Struct):
    amount: float


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("plain", [False, True])
async def test_what_a_typed_handler_returns_is_the_reply(ordered, plain) -> None:
    async with staged() as scene:
        consumer = scene.consumer(ordered=ordered)

        def price(value: Question) -> Price:
            return Price(value.number / 2)

        async def price_async(value: Question) -> Price:
            return price(value)

        consumer.subscribe("questions", "*", price if plain else price_async, type=Question)
        await scene.start(consumer)
        asking = await scene.asking()
        for number in (5, 7):
            work = asking.request(question(b'{"number": %d}' % number), timeout=300)
            reply = await scene.finish(work)
            assert reply.decode(Price) == Price(number / 2)
            assert content_type(reply.properties) == "application/json"


async def test_a_handler_of_messages_may_return_the_reply_that_it_made() -> None:
    async with staged() as scene:
        consumer = scene.consumer()

        @consumer.on("questions")
        async def handle(message: ReceivedMessage):
            return reply_to(message, message.body.upper(), tag="loud")

        await scene.start(consumer)
        asking = await scene.asking()
        reply = await scene.finish(asking.request(question(), timeout=300))
        assert (reply.body, reply.tag) == (b"TEA", "loud")


@pytest.mark.parametrize("annotated", [True, False])
async def test_a_value_for_what_is_no_request_is_ignored_only_where_it_was_announced(annotated) -> None:
    async with staged() as scene:
        consumer = scene.consumer()

        async def announced(value: Question) -> int:
            scene.seen.append(b"called")
            return 0

        async def silent(value: Question):
            return await announced(value)

        consumer.subscribe("questions", "*", announced if annotated else silent, type=Question)
        await scene.start(consumer)
        asking = await scene.asking()
        await scene.finish(asking.send(question(b'{"number": 1}')))
        await scene.pass_time(15)
        assert scene.seen == [b"called"] * (1 if annotated else 2)


async def test_a_value_that_is_no_body_is_a_failure_of_the_handler() -> None:
    async with staged() as scene:
        consumer = scene.consumer()

        @consumer.on("questions", type=Question)
        async def handle(value: Question) -> object:
            return object()

        await scene.start(consumer)
        asking = await scene.asking()
        with pytest.raises(RequestFailed, match="EncodeError"):
            await scene.finish(asking.request(question(b'{"number": 1}'), timeout=300))


async def test_a_reply_that_nobody_takes_any_more_is_a_line_in_the_log(caplog) -> None:
    async with staged() as scene:
        asking, consumer = await scene.asking(), scene.consumer()
        gone = asyncio.Event()

        @consumer.on("questions", type=Question)
        async def handle(value: Question) -> int:
            scene.seen.append(b"called")
            await gone.wait()
            return value.number

        await scene.start(consumer)
        waiting = asyncio.ensure_future(asking.request(question(b'{"number": 1}'), timeout=300))
        while not scene.seen:
            await scene.clock.aadvance(0.1)
        scene.open.remove(asking)
        await scene.finish(asking.stop())
        with pytest.raises(Exception, match="stopped"):
            await waiting
        gone.set()
        await scene.pass_time(30)
        assert scene.seen == [b"called"]
    assert any("a reply could not be sent" in r.getMessage() for r in caplog.records)


def test_both_sides_with_the_blocking_api() -> None:
    with Cluster() as cluster:
        cluster.create_topic("questions", 1)
        consumer = PushConsumer(GROUP, nameserver=cluster.nameserver, consume_from="first")

        @consumer.on("questions")
        def handle(message: ReceivedMessage) -> None:
            raise KeyError("tea")

        with (
            consumer,
            Producer("asking", nameserver=cluster.nameserver) as asking,
            pytest.raises(RequestFailed, match="KeyError: 'tea'"),
        ):
            asking.request(question(), timeout=60)
