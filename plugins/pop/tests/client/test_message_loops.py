"""`async for message in consumer`: what is acknowledged, hidden for longer, and given back."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from mqframe_pop.client.consumer import AsyncSimpleConsumer
from mqframe_pop.rules.popped import PoppedMessage
from simple_scenes import SimpleScene, bodies, numbered

from mqframe.core.errors import ClosedError, FixError, ReceiptError


async def nothing_for(scene: SimpleScene, consumer: AsyncSimpleConsumer, seconds: float) -> None:
    """Nobody gets anything, however often it is asked for."""
    end = scene.clock.monotonic() + seconds
    while scene.clock.monotonic() < end:
        await scene.nothing(consumer)


async def late(scene: SimpleScene, consumer: AsyncSimpleConsumer, count: int) -> list[PoppedMessage]:
    """`count` messages whose time has to be over first."""
    got: list[PoppedMessage] = []
    for _ in range(12):
        got += await scene.finish(consumer.receive(32, 60.0))
        if len(got) >= count:
            break
    return got


async def collect(consumer: AsyncSimpleConsumer, seen: list[bytes]) -> None:
    """What comes until the consumer is stopped."""
    async for message in consumer:
        seen += [message.body]


async def test_a_message_is_acknowledged_when_the_next_one_is_asked_for() -> None:
    async with SimpleScene() as scene:
        await scene.send(*numbered(b"m", 20))
        consumer = await scene.join()
        seen: list[bytes] = []

        async def work() -> None:
            async for message in consumer:
                seen.append(message.body)
                if len(seen) == 20:
                    break

        await scene.finish(work())
        assert Counter(seen) == Counter(numbered(b"m", 20))
        [again] = await late(scene, await scene.join(), 1)
        assert (again.body, again.delivery_attempt) == (seen[-1], 2)


async def test_a_loop_goes_on_with_what_comes_and_ends_when_the_consumer_is_stopped() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        seen: list[bytes] = []

        async def work() -> str:
            await collect(consumer, seen)
            return "ended"

        working = asyncio.ensure_future(work())
        for number in range(3):
            await scene.clock.aadvance(30.0)
            await scene.send(b"m%d" % number)
            await scene.until(lambda number=number: len(seen) == number + 1)
        await scene.close(consumer)
        assert await scene.finish(working) == "ended"
        assert seen == [b"m0", b"m1", b"m2"]
        await nothing_for(scene, await scene.join(), 40.0)


async def test_without_auto_ack_the_application_acknowledges() -> None:
    async with SimpleScene() as scene:
        await scene.send(*numbered(b"m", 10))
        consumer = await scene.join()
        seen: list[bytes] = []

        async def work() -> None:
            async for message in consumer.messages(invisible_duration=10.0, auto_ack=False):
                seen.append(message.body)
                if message.delivery_attempt == 2 or message.body in (b"m1", b"m4"):
                    await consumer.ack(message)
                if len(seen) == 18:
                    break

        await scene.finish(work())
        assert Counter(seen[:10]) == Counter(numbered(b"m", 10))
        assert Counter(seen[10:]) == Counter(numbered(b"m", 10)) - Counter([b"m1", b"m4"])
        await nothing_for(scene, consumer, 40.0)


@pytest.mark.parametrize("auto_ack", [True, False])
async def test_what_is_worked_on_and_what_waits_stays_hidden(auto_ack: bool) -> None:
    async with SimpleScene() as scene:
        await scene.send(*numbered(b"m", 8))
        consumer, other = await scene.join(), await scene.join()
        loop = consumer.messages(invisible_duration=10.0, auto_ack=auto_ack)
        first = await scene.finish(anext(loop))
        if not auto_ack:
            await consumer.ack(first)
        for _ in range(6):
            await scene.nothing(other)
            await scene.clock.aadvance(5.0)
        # Longer than the time of several: each has half of its time left when it is handed out.
        rest = []
        while len(rest) < 7:
            rest.append(await scene.finish(anext(loop)))
            assert rest[-1].deadline - scene.clock.monotonic() >= 4.5
            assert rest[-1].delivery_attempt == 1
            if not auto_ack:
                await consumer.ack(rest[-1])
        assert Counter(bodies([first, *rest])) == Counter(numbered(b"m", 8))
        await scene.finish(loop.aclose())
        if auto_ack:
            await consumer.ack(rest[-1])
        await nothing_for(scene, other, 40.0)


async def test_where_a_loop_is_left_the_rest_goes_to_others_at_once() -> None:
    async with SimpleScene() as scene:
        await scene.cluster.create_topic("one", 1)
        await scene.send(*numbered(b"m", 5), topic="one")
        consumer, other = await scene.join("one"), await scene.join("one")

        async def work() -> None:
            async for message in consumer:
                if message.body == b"m2":
                    raise LookupError(message.body)

        with pytest.raises(LookupError):
            await scene.finish(work())
        began = scene.clock.monotonic()
        rest = await scene.receive(other, 2)
        assert scene.clock.monotonic() - began < 10.0
        assert sorted(bodies(rest)) == [b"m3", b"m4"]
        await other.ack_batch(rest)
        # What it was left at comes again when its time is over.
        [failed] = await late(scene, other, 1)
        assert (failed.body, failed.delivery_attempt) == (b"m2", 2)
        assert scene.clock.monotonic() - began > 15.0


async def test_a_stop_in_the_body_of_the_loop_gives_the_rest_back() -> None:
    async with SimpleScene() as scene:
        await scene.cluster.create_topic("one", 1)
        await scene.send(*numbered(b"m", 5), topic="one")
        consumer, other = await scene.join("one"), await scene.join("one")
        seen = []

        async def work() -> None:
            async for message in consumer:
                seen.append(message.body)
                if message.body == b"m1":
                    await consumer.stop()

        await scene.finish(work())
        assert seen == [b"m0", b"m1"]
        assert sorted(bodies(await late(scene, other, 4))) == [b"m1", b"m2", b"m3", b"m4"]


async def test_a_loop_outlives_a_broker_that_is_away() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        seen: list[bytes] = []

        working = asyncio.ensure_future(collect(consumer, seen))
        await scene.send(b"before")
        await scene.until(lambda: seen == [b"before"])
        await scene.clock.aadvance(5.0)
        await scene.finish(scene.cluster.stop_broker(0))
        await scene.clock.aadvance(200.0)
        assert not working.done()
        await scene.finish(scene.cluster.start_broker(0))
        await scene.finish(scene.send(b"after"))
        await scene.until(lambda: len(seen) == 2, 200.0)
        assert seen == [b"before", b"after"]
        await scene.close(consumer)
        await scene.finish(working)


async def test_a_message_that_the_application_acknowledges_itself_is_not_acknowledged_twice() -> None:
    async with SimpleScene() as scene:
        await scene.send(b"m0", b"m1")
        consumer = await scene.join()
        loop = aiter(consumer)
        first = await scene.finish(anext(loop))
        await consumer.ack(first)
        second = await scene.finish(anext(loop))
        assert {first.body, second.body} == {b"m0", b"m1"}
        with pytest.raises(ReceiptError, match="acknowledged before"):
            await consumer.ack(first)
        await scene.finish(loop.aclose())


async def test_numbers_that_make_no_sense_and_a_consumer_that_does_not_run_are_refused() -> None:
    async with SimpleScene() as scene:
        consumer = await scene.join()
        with pytest.raises(FixError, match="max_messages is 33"):
            await anext(consumer.messages(max_messages=33))
        with pytest.raises(FixError, match="invisible_duration is 0"):
            await anext(consumer.messages(invisible_duration=0))
        await scene.close(consumer)
        with pytest.raises(ClosedError):
            consumer.messages()
