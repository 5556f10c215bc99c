"""A feed whose consumers are scripted: limits, turns, what goes back, and what becomes of failures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqframe_kombu import feed as feed_module
from mqframe_kombu.held import Held, HeldOutcome, Source
from mqframe_kombu.options import TransportOptions
from scripted_feeds import Consumer, consumer_of, feed_scene

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import ConnectionLost, ReceiptError


async def test_it_asks_for_what_there_is_room_for() -> None:
    async with feed_scene() as scene:
        scene.feed.set_prefetch(3)
        source = scene.source(*"abcde")
        await scene.until(lambda: len(scene.out) == 3)
        assert consumer_of(source).asked == [(3, 0.1)]
        scene.feed.settle(scene.out[1], HeldOutcome.ACK)
        scene.feed.settle(scene.out[1], HeldOutcome.ACK)
        await scene.until(lambda: len(scene.out) == 4)
        assert consumer_of(source).asked[1] == (1, 0.1)
        assert scene.texts() == ["a", "b", "c", "d"]
        await scene.until(lambda: consumer_of(source).acked == ["b"])


async def test_without_prefetch_count_few_wait_for_being_looked_at() -> None:
    async with feed_scene() as scene:
        scene.source(*map(str, range(100)))
        await scene.until(lambda: len(scene.out) == feed_module.POP_MAX)
        await asyncio.sleep(0.05)
        assert len(scene.out) == feed_module.POP_MAX
        for _ in range(10):
            scene.feed.delivered()
        await scene.until(lambda: len(scene.out) == feed_module.POP_MAX + 10)


async def test_the_highest_step_is_asked_first_and_others_take_turns() -> None:
    async with feed_scene() as scene:
        scene.feed.set_prefetch(1)
        scene.source("low1", "low2")
        scene.source("other1", "other2")
        scene.source("high1", "high2", step=6)
        for n in range(6):
            await scene.until(lambda n=n: len(scene.out) == n + 1)
            scene.feed.settle(scene.out[n], HeldOutcome.ACK)
        texts = scene.texts()
        assert texts[:2] == ["high1", "high2"]
        assert sorted(texts[2:4]) == ["low1", "other1"]
        assert sorted(texts[4:]) == ["low2", "other2"]


async def test_room_that_there_is_meanwhile_is_for_the_highest_step() -> None:
    async with feed_scene() as scene:
        scene.feed.set_prefetch(1)
        high, middle, low = (Source("q", step, Consumer([], scene)) for step in (6, 3, 0))  # type: ignore[arg-type]
        consumer_of(high).queue.append("first")
        consumer_of(low).queue.append("last")
        take = consumer_of(middle).receive

        async def while_others_wait(count: int, seconds: float, wait: float) -> list[Any]:
            if len(scene.out) == 1 and not consumer_of(middle).asked:
                consumer_of(high).queue.append("second")
                scene.feed.set_prefetch(2)
            return await take(count, seconds, wait)

        consumer_of(middle).receive = while_others_wait  # type: ignore[method-assign]
        scene.feed.add(high, middle, low)
        await scene.until(lambda: scene.out)
        scene.feed.settle(scene.out[0], HeldOutcome.ACK)
        await scene.until(lambda: len(scene.out) == 3)
        assert scene.texts() == ["first", "second", "last"]


async def test_what_comes_beyond_the_room_is_next_or_goes_back(monkeypatch) -> None:
    monkeypatch.setattr(feed_module, "HOLD_SECONDS", 0.1)
    async with feed_scene() as scene:
        scene.feed.set_prefetch(1)
        one, two = scene.source(), scene.source()
        await scene.until(lambda: one.poll is not None and two.poll is not None)
        consumer_of(one).queue.append("a")
        consumer_of(two).queue.append("b")
        await scene.until(lambda: len(scene.out) == 1)
        scene.feed.settle(scene.out[0], HeldOutcome.ACK)
        await scene.until(lambda: len(scene.out) == 2)
        assert scene.texts() == ["a", "b"]
        await scene.until(lambda: one.poll is None and two.poll is None)
        scene.feed.settle(scene.out[1], HeldOutcome.ACK)
        await scene.until(lambda: one.poll is not None and two.poll is not None)
        consumer_of(one).queue.append("c")
        consumer_of(two).queue.append("d")
        await scene.until(lambda: consumer_of(one).hidden + consumer_of(two).hidden)
        assert consumer_of(two).hidden == [("d", feed_module.SOON_SECONDS)]
        assert scene.texts() == ["a", "b", "c"]


async def test_what_is_not_for_now_is_acknowledged() -> None:
    async with feed_scene() as scene:
        scene.not_for_now.add("old")
        source = scene.source("old", "new")
        await scene.until(lambda: consumer_of(source).acked == ["old"])
        assert scene.texts() == ["new"]


async def test_what_is_out_is_renewed_until_it_is_settled() -> None:
    async with feed_scene(TransportOptions(visibility_timeout=1, wait_time_seconds=0.1)) as scene:
        source = scene.source("a", "b")
        await scene.until(lambda: len(scene.out) == 2)
        scene.feed.settle(scene.out[1], HeldOutcome.ACK)
        await scene.until(lambda: len(consumer_of(source).hidden) >= 2)
        assert set(consumer_of(source).hidden) == {("a", 1)}
        consumer_of(source).failures = [ReceiptError(ResponseCode.NO_MESSAGE, "late", "broker")]
        await scene.until(lambda: not consumer_of(source).failures)
        scene.feed.settle(scene.out[0], HeldOutcome.ACK)  # somebody else has it now: nothing happens
        await asyncio.sleep(0.05)
        assert consumer_of(source).acked == ["b"]


async def test_acknowledging_is_tried_again_and_given_up_when_it_is_too_late() -> None:
    async with feed_scene() as scene:
        source = scene.source("a", "b")
        await scene.until(lambda: len(scene.out) == 2)
        consumer_of(source).failures = [ConnectionLost("gone")]
        scene.feed.settle(scene.out[0], HeldOutcome.ACK)
        await scene.until(lambda: consumer_of(source).acked == ["a"])
        consumer_of(source).failures = [ReceiptError(ResponseCode.NO_MESSAGE, "late", "broker")]
        scene.feed.settle(scene.out[1], HeldOutcome.ACK)
        await scene.until(lambda: not consumer_of(source).failures and source.flush is None)
        assert consumer_of(source).acked == ["a"]


async def test_dead_letters_are_acknowledged_once_they_are_made() -> None:
    async with feed_scene() as scene:
        source = scene.source("dead", "immortal")
        await scene.until(lambda: len(scene.out) == 2)
        for held in list(scene.out):
            scene.feed.settle(held, HeldOutcome.DEAD_LETTER)
        await scene.until(lambda: consumer_of(source).acked == ["dead"])
        assert scene.buried == ["dead"]


async def test_a_source_that_is_removed_lets_go_and_what_is_out_is_settled_by_another_member() -> None:
    async with feed_scene() as scene:
        scene.feed.set_prefetch(2)
        source = scene.source("a", "b")
        first = consumer_of(source)
        await scene.until(lambda: len(scene.out) == 2)
        scene.out[0].delivered = True
        await scene.feed.remove([source])
        assert first.stopped
        (second,) = scene.joined
        assert second.hidden == [("b", feed_module.SOON_SECONDS)]
        scene.feed.settle(scene.out[0], HeldOutcome.ACK)
        await scene.until(lambda: second.stopped)
        assert second.acked == ["a"]


async def test_all_steps_of_a_queue_are_removed_at_once() -> None:
    async with feed_scene() as scene:
        steps = [scene.source(step=step) for step in (6, 3)]
        consumers = list(map(consumer_of, steps))
        await scene.until(lambda: all(source.poll is not None for source in steps))
        stop = consumers[0].stop

        async def stop_while_one_comes() -> None:
            consumers[1].queue.append("a")
            await scene.until(lambda: not consumers[1].queue)
            await stop()

        consumers[0].stop = stop_while_one_comes  # type: ignore[method-assign]
        await scene.feed.remove(steps)
        assert scene.out == []
        assert scene.gone_back == ["a"]
        assert all(each.stopped for each in [*consumers, *scene.joined])


@pytest.mark.parametrize("others", [0, 1])
async def test_what_comes_while_a_source_is_removed_goes_back(others: int) -> None:
    async with feed_scene() as scene:
        for _ in range(others):  # with more than one source, each is asked without waiting first
            scene.source()
        source = scene.source()
        first = consumer_of(source)
        answer = first.answers_at_the_end = asyncio.Event()
        await scene.until(lambda: first.asked)
        first.queue += ["a", "b"]
        await scene.feed.remove([source])
        assert answer.is_set()
        assert scene.out == []
        (second,) = scene.joined
        assert sorted(second.hidden) == [(text, feed_module.SOON_SECONDS) for text in "ab"]
        assert sorted(scene.gone_back) == ["a", "b"]
        assert first.stopped
        assert second.stopped


async def test_what_comes_while_a_feed_is_closed_goes_back() -> None:
    async with feed_scene() as scene:
        first, second = scene.source(), scene.source()
        consumers = [consumer_of(first), consumer_of(second)]
        for text, each in zip("ab", consumers, strict=True):
            each.answers_at_the_end = asyncio.Event()
            each.queue.append(text)
        await scene.until(lambda: consumers[0].asked or consumers[1].asked)
        await scene.feed.close()
        asked = [text for text, each in zip("ab", consumers, strict=True) if each.asked]
        assert sorted(scene.gone_back) == asked
        assert all(each.stopped for each in [*consumers, *scene.joined])


async def test_a_source_is_removed_at_once_while_its_broker_is_away() -> None:
    async with feed_scene() as scene:
        source = scene.source()
        scene.patience = asyncio.Event()

        async def failing(count: int, seconds: float, wait: float) -> list[Any]:
            raise ConnectionLost("gone")

        consumer_of(source).receive = failing  # type: ignore[method-assign]
        await scene.until(lambda: "gone" in scene.troubles)
        async with asyncio.timeout(10):
            await scene.feed.remove([source])
        assert consumer_of(source).stopped
        assert source.poll is None


async def test_at_the_end_all_goes_back_and_what_is_done_is_acknowledged() -> None:
    async with feed_scene() as scene:
        source = scene.source("a", "b", "c")
        await scene.until(lambda: len(scene.out) == 3)
        scene.feed.settle(scene.out[0], HeldOutcome.ACK)
        first = consumer_of(source)
        await scene.feed.close()
        await scene.feed.close()
        assert first.stopped
        assert first.acked + consumer_of(source).acked == ["a"]
        assert sorted(text for text, _ in consumer_of(source).hidden) == ["b", "c"]
        assert consumer_of(source).stopped


async def test_trouble_is_told_and_tried_again() -> None:
    async with feed_scene() as scene:
        source = scene.source()
        failures = [ConnectionLost("one"), ConnectionLost("two")]
        receive = consumer_of(source).receive

        async def failing(count: int, seconds: float, wait: float) -> list[Any]:
            if failures:
                raise failures.pop(0)
            return await receive(count, seconds, wait)

        consumer_of(source).receive = failing  # type: ignore[method-assign]
        consumer_of(source).queue.append("a")
        await scene.until(lambda: scene.out)
        assert scene.troubles[-3:] == ["one", "two", "well"]


async def test_what_was_asked_for_beside_is_kept_and_given_back() -> None:
    async with feed_scene() as scene:
        source = scene.source("a")
        await scene.until(lambda: scene.out)
        assert scene.gone_back == []
        await scene.feed.give_back(scene.out)
        await scene.feed.give_back(scene.out)
        assert scene.gone_back == ["a"]
        assert consumer_of(source).hidden == [("a", feed_module.SOON_SECONDS)]
        beside = Held(source, scene.out[0].popped)
        scene.feed.adopt(beside)
        scene.feed.settle(beside, HeldOutcome.ACK)
        await scene.until(lambda: consumer_of(source).acked == ["a"])
