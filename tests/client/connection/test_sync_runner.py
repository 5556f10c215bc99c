"""A client that runs until somebody ends it, or its process is signalled to end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mqframe.client.connection.lifecycle import RunnableClient
from mqframe.client.connection.sync_runner import SyncRunner
from mqframe.core.errors import RouteError


class Run(RunnableClient):
    """A client that can be run. `never`: it waits to start until it is ended."""

    def __init__(self, *, never: bool = False, problem: Exception | None = None) -> None:
        self.events: list[str] = []
        self.started = threading.Event()
        self._never = never
        self._problem = problem
        self._over = asyncio.Event()
        self.waiting = threading.Event()
        self.fail_fast: bool | None = None

    async def start(self) -> None:
        self.started.set()
        self.events.append(f"start in {threading.current_thread().name}")

    def end(self) -> None:
        self._over.set()

    async def stop(self) -> None:
        self.events.append("stop")
        self.end()

    async def _start_or_end(self, *, fail_fast: bool) -> None:
        self.fail_fast = fail_fast
        if self._problem is not None:
            raise self._problem
        if not self._never:
            await self.start()
            return
        self.waiting.set()
        await self._over.wait()


@pytest.mark.parametrize("way", ["end", "stop"])
def test_a_run_lasts_until_somebody_ends_it(way: str) -> None:
    client = Run()
    sync: SyncRunner[Run] = SyncRunner(client, "client")
    thread = threading.Thread(target=sync.run)
    thread.start()
    assert client.started.wait(120)
    getattr(sync, way)()
    thread.join(120)
    assert not thread.is_alive()
    assert client.events == ["start in mqframe-client", "stop"]


@pytest.mark.parametrize("way", ["end", "stop"])
def test_a_run_that_cannot_start_yet_is_ended_all_the_same(way: str) -> None:
    client = Run(never=True)
    sync: SyncRunner[Run] = SyncRunner(client, "client")
    thread = threading.Thread(target=sync.run)
    thread.start()
    assert client.waiting.wait(120)
    getattr(sync, way)()
    thread.join(120)
    assert not thread.is_alive()
    assert client.events == ["stop"]


def test_a_run_that_cannot_start_raises_what_the_start_raised() -> None:
    client = Run(problem=RouteError("no name server answered"))
    before = threading.active_count()
    with pytest.raises(RouteError, match="no name server answered"):
        SyncRunner(client, "client").run(fail_fast=True)
    assert (client.fail_fast, client.events) == (True, [])
    assert threading.active_count() == before
