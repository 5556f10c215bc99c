"""Feeds whose consumers are scripted, and what they ask of their owner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from mqframe_kombu.feed import Feed
from mqframe_kombu.held import Held, Source
from mqframe_kombu.options import TransportOptions

from mqframe.core.errors import ClosedError, ConnectionLost, MqframeError


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
        self.answers_at_the_end: asyncio.Event | None = None
        """Answers come at the last moment: when it is stopped."""

    async def receive(self, count: int, seconds: float, wait: float) -> list[Any]:
        self.asked.append((count, wait))
        if self.answers_at_the_end is not None:
            await self.answers_at_the_end.wait()
        end = self.scene.loop.time() + wait
        while not self.queue:
            if self.stopped:
                raise ClosedError("stopped")
            if self.scene.loop.time() >= end:
                return []
            await asyncio.sleep(0.005)
        taken, self.queue[:] = self.queue[:count], self.queue[count:]
        deadline = self.scene.loop.time() + seconds
        return [
            SimpleNamespace(text=text, deadline=deadline, message_id=text, keys=[], delivery_attempt=1)
            for text in taken
        ]

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
        if self.answers_at_the_end is not None:
            self.answers_at_the_end.set()


class Scene:
    """A feed with its owner. `out`: what was handed out."""

    def __init__(self, options: TransportOptions | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.out: list[Held] = []
        self.buried: list[str] = []
        self.gone_back: list[str] = []
        self.patience: asyncio.Event | None = None
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
        if self.patience is not None:
            await self.patience.wait()
        await asyncio.sleep(0.01)

    def gave_back(self, held: Any) -> None:
        self.gone_back.append(held.popped.text)

    def all_well(self) -> None:
        self.troubles.append("well")


@asynccontextmanager
async def feed_scene(options: TransportOptions | None = None) -> AsyncIterator[Any]:
    scene = Scene(options)
    try:
        yield scene
    finally:
        await scene.feed.close()


def consumer_of(source: Source) -> Consumer:
    return source.consumer  # type: ignore[return-value]
