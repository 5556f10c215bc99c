"""A feed whose consumers are scripted: limits, turns, what goes back, and what becomes of failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from mqframe_kombu import feed as feed_module
from mqframe_kombu.feed import Feed, Held, Outcome, Source
from mqframe_kombu.options import TransportOptions

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import ConnectionLost, MqframeError, ReceiptError


class Consumer:
    """A member of a group on a queue in memory. It notes what it is asked."""

    def __init__(self, queue: list[str], scene: Scene) -> None:
        self.queue = queue
        self.scene = scene
        self.asked: list[tuple[int, float]] = []
        self.acked: list[str] = []
        self.hidden: list[tuple[str, float]] = []
        self.failures: list[MqframeError] = []
        self.stopped = False
        self.topics = ["topic"]

    async def receive(self, count: int, seconds: float, wait: float) -> list[Any]:
        self.asked.append((count, wait))
        end = self.scene.loop.time() + wait
        while not self.queue:
            if self.scene.loop.time() >= end:
                return []
            await asyncio.sleep(0.005)
        taken, self.queue[:] = self.queue[:count], self.queue[count:]
        return [SimpleNamespace(text=text, deadline=self.scene.loop.time() + seconds) for text in taken]

    async def ack_batch(self, messages: list[Any]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.acked += [message.text for message in messages]

    async def change_invisible_duration(self, message: Any, seconds: float) -> str:
        if self.failures:
            raise self.failures.pop(0)
        message.deadline = self.scene.loop.time() + seconds
        self.hidden.append((message.text, seconds))
        return ""

    async def stop(self) -> None:
        self.stopped = True


class Scene:
    """A feed with its owner. `out`: what was handed out."""

    def __init__(self, options: TransportOptions | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.out: list[Held] = []
        self.buried: list[str] = []
        self.troubles: list[str] = []
        self.joined: list[Consumer] = []
        self.not_for_now: set[str] = set()
        self.feed = Feed(self, options or TransportOptions(wait_time_seconds=0.1), self.out.append)

    def source(self, *texts: str, step: int = 0) -> Source:
        source = Source("q", step, Consumer(list(texts), self))  # type: ignore[arg-type]
        self.feed.add(source)
        return source

    async def until(self, what: Callable[[], object]) -> None:
        async with asyncio.timeout(10):
            while not what():
                await asyncio.sleep(0.002)

    def texts(self) -> list[str]:
        return [held.popped.text for held in self.out]  # type: ignore[attr-defined]

    # As the feed's owner

    async def join(self, topic: str) -> Any:
        self.joined.append(Consumer([], self))
        return self.joined[-1]

    async def is_for_now(self, source: Source, popped: Any) -> bool:
        return popped.text not in self.not_for_now

    async def bury(self, held: Any) -> None:
        if held.popped.text == "immortal":
            raise ConnectionLost("gone")
        self.buried.append(held.popped.text)

    async def trouble(self, problem: MqframeError, queue: str) -> None:
        self.troubles.append(str(problem))
        await asyncio.sleep(0.01)

    def all_well(self) -> None:
        self.troubles.append("well")


def play(story: Callable[[Scene], Awaitable[None]], options: TransportOptions | None = None) -> None:
    async def run() -> None:
        scene = Scene(options)
        try:
            await story(scene)
        finally:
            await scene.feed.close()

    asyncio.run(run())


def consumer_of(source: Source) -> Consumer:
    return source.consumer  # type: ignore[return-value]


def test_it_asks_for_what_there_is_room_for() -> None:
    async def story(scene: Scene) -> None:
        scene.feed.set_prefetch(3)
        source = scene.source(*"abcde")
        await scene.until(lambda: len(scene.out) == 3)
        assert consumer_of(source).asked == [(3, 0.1)]
        scene.feed.settle(scene.out[1], Outcome.ACK)
        scene.feed.settle(scene.out[1], Outcome.ACK)
        await scene.until(lambda: len(scene.out) == 4)
        assert consumer_of(source).asked[1] == (1, 0.1)
        assert scene.texts() == ["a", "b", "c", "d"]
        await scene.until(lambda: consumer_of(source).acked == ["b"])

    play(story)


def test_without_prefetch_count_few_wait_for_being_looked_at() -> None:
    async def story(scene: Scene) -> None:
        scene.source(*map(str, range(100)))
        await scene.until(lambda: len(scene.out) == feed_module.POP_MAX)
        await asyncio.sleep(0.05)
        assert len(scene.out) == feed_module.POP_MAX
        for _ in range(10):
            scene.feed.delivered()
        await scene.until(lambda: len(scene.out) == feed_module.POP_MAX + 10)

    play(story)


def test_the_highest_step_is_asked_first_and_others_take_turns() -> None:
    async def story(scene: Scene) -> None:
        scene.feed.set_prefetch(1)
        scene.source("low1", "low2")
        scene.source("other1", "other2")
        scene.source("high1", "high2", step=6)
        for n in range(6):
            await scene.until(lambda n=n: len(scene.out) == n + 1)
            scene.feed.settle(scene.out[n], Outcome.ACK)
        texts = scene.texts()
        assert texts[:2] == ["high1", "high2"]
        assert sorted(texts[2:4]) == ["low1", "other1"]
        assert sorted(texts[4:]) == ["low2", "other2"]

    play(story)


def test_what_comes_beyond_the_room_is_next_or_goes_back(monkeypatch) -> None:
    monkeypatch.setattr(feed_module, "HOLD_SECONDS", 0.1)

    async def story(scene: Scene) -> None:
        scene.feed.set_prefetch(1)
        one, two = scene.source(), scene.source()
        await scene.until(lambda: one.poll is not None and two.poll is not None)
        consumer_of(one).queue.append("a")
        consumer_of(two).queue.append("b")
        await scene.until(lambda: len(scene.out) == 1)
        scene.feed.settle(scene.out[0], Outcome.ACK)
        await scene.until(lambda: len(scene.out) == 2)
        assert scene.texts() == ["a", "b"]
        await scene.until(lambda: one.poll is None and two.poll is None)
        scene.feed.settle(scene.out[1], Outcome.ACK)
        await scene.until(lambda: one.poll is not None and two.poll is not None)
        consumer_of(one).queue.append("c")
        consumer_of(two).queue.append("d")
        await scene.until(lambda: consumer_of(one).hidden + consumer_of(two).hidden)
        assert consumer_of(two).hidden == [("d", feed_module.SOON_SECONDS)]
        assert scene.texts() == ["a", "b", "c"]

    play(story)


def test_what_is_not_for_now_is_acknowledged() -> None:
    async def story(scene: Scene) -> None:
        scene.not_for_now.add("old")
        source = scene.source("old", "new")
        await scene.until(lambda: consumer_of(source).acked == ["old"])
        assert scene.texts() == ["new"]

    play(story)


def test_what_is_out_is_renewed_until_it_is_settled() -> None:
    async def story(scene: Scene) -> None:
        source = scene.source("a", "b")
        await scene.until(lambda: len(scene.out) == 2)
        scene.feed.settle(scene.out[1], Outcome.ACK)
        await scene.until(lambda: len(consumer_of(source).hidden) >= 2)
        assert set(consumer_of(source).hidden) == {("a", 1)}
        consumer_of(source).failures = [ReceiptError(ResponseCode.NO_MESSAGE, "late", "broker")]
        await scene.until(lambda: not consumer_of(source).failures)
        scene.feed.settle(scene.out[0], Outcome.ACK)  # somebody else has it now: nothing happens
        await asyncio.sleep(0.05)
        assert consumer_of(source).acked == ["b"]

    play(story, TransportOptions(visibility_timeout=1, wait_time_seconds=0.1))


def test_acknowledging_is_tried_again_and_given_up_when_it_is_too_late() -> None:
    async def story(scene: Scene) -> None:
        source = scene.source("a", "b")
        await scene.until(lambda: len(scene.out) == 2)
        consumer_of(source).failures = [ConnectionLost("gone")]
        scene.feed.settle(scene.out[0], Outcome.ACK)
        await scene.until(lambda: consumer_of(source).acked == ["a"])
        consumer_of(source).failures = [ReceiptError(ResponseCode.NO_MESSAGE, "late", "broker")]
        scene.feed.settle(scene.out[1], Outcome.ACK)
        await scene.until(lambda: not consumer_of(source).failures and source.flush is None)
        assert consumer_of(source).acked == ["a"]

    play(story)


def test_dead_letters_are_acknowledged_once_they_are_made() -> None:
    async def story(scene: Scene) -> None:
        source = scene.source("dead", "immortal")
        await scene.until(lambda: len(scene.out) == 2)
        for held in list(scene.out):
            scene.feed.settle(held, Outcome.DEAD_LETTER)
        await scene.until(lambda: consumer_of(source).acked == ["dead"])
        assert scene.buried == ["dead"]

    play(story)


def test_a_source_that_is_removed_lets_go_and_what_is_out_is_settled_by_another_member() -> None:
    async def story(scene: Scene) -> None:
        scene.feed.set_prefetch(2)
        source = scene.source("a", "b")
        first = consumer_of(source)
        await scene.until(lambda: len(scene.out) == 2)
        scene.out[0].delivered = True
        await scene.feed.remove([source])
        assert first.stopped
        (second,) = scene.joined
        assert second.hidden == [("b", feed_module.SOON_SECONDS)]
        scene.feed.settle(scene.out[0], Outcome.ACK)
        await scene.until(lambda: second.stopped)
        assert second.acked == ["a"]

    play(story)


def test_at_the_end_all_goes_back_and_what_is_done_is_acknowledged() -> None:
    async def story(scene: Scene) -> None:
        source = scene.source("a", "b", "c")
        await scene.until(lambda: len(scene.out) == 3)
        scene.feed.settle(scene.out[0], Outcome.ACK)
        first = consumer_of(source)
        await scene.feed.close()
        await scene.feed.close()
        assert first.stopped
        assert first.acked + consumer_of(source).acked == ["a"]
        assert sorted(text for text, _ in consumer_of(source).hidden) == ["b", "c"]
        assert consumer_of(source).stopped

    play(story)


def test_trouble_is_told_and_tried_again() -> None:
    async def story(scene: Scene) -> None:
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

    play(story)


def test_what_was_asked_for_beside_is_kept_and_given_back() -> None:
    async def story(scene: Scene) -> None:
        source = scene.source("a")
        await scene.until(lambda: scene.out)
        assert not scene.feed.just_gave_back()
        await scene.feed.give_back(scene.out)
        await scene.feed.give_back(scene.out)
        assert scene.feed.just_gave_back()
        assert consumer_of(source).hidden == [("a", feed_module.SOON_SECONDS)]
        beside = Held(source, scene.out[0].popped)
        scene.feed.adopt(beside)
        scene.feed.settle(beside, Outcome.ACK)
        await scene.until(lambda: consumer_of(source).acked == ["a"])

    play(story)
