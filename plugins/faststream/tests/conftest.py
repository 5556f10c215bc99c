"""Brokers of applications over one server that all tests share, with delay levels of a tenth of a second."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mqframe_faststream import MqframeBroker
from mqframe_testing.cluster import Cluster

SECONDS_MAX = 20.0


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    """A name server and a broker; failed messages come again after a second."""
    with Cluster(store={"delay_levels": "1s 1s 1s 1s"}) as cluster:
        yield cluster


@pytest.fixture
def topic() -> str:
    """A name that nobody else uses."""
    return f"t-{uuid.uuid4().hex}"


@pytest.fixture
def make(server: Cluster) -> Callable[..., MqframeBroker]:
    """Makes brokers that connect to the server."""

    def made(**options: Any) -> MqframeBroker:
        return MqframeBroker(server.nameserver, **options)

    return made


class Seen:
    """What handlers saw, in order; `take` waits for so many."""

    def __init__(self) -> None:
        self.all: list[Any] = []
        self._queue: asyncio.Queue[Any] = asyncio.Queue()

    def __call__(self, what: Any) -> None:
        self.all.append(what)
        self._queue.put_nowait(what)

    async def take(self, count: int = 1) -> list[Any]:
        """The next `count`, within a deadline."""
        async with asyncio.timeout(SECONDS_MAX):
            return [await self._queue.get() for _ in range(count)]


@pytest.fixture
def seen() -> Seen:
    return Seen()


async def _until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(SECONDS_MAX):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Awaitable[None]]:
    """Waits until a condition is true, within a deadline."""
    return _until


@pytest.fixture
def running() -> Callable[[MqframeBroker, Callable[[], Awaitable[Any]]], Any]:
    """Runs a story while a broker runs; returns what the story returns."""

    @asynccontextmanager
    async def played(broker: MqframeBroker) -> AsyncIterator[Any]:
        async with broker:
            await broker.start()
            async with asyncio.timeout(4 * SECONDS_MAX):
                yield

    return played
