"""Clients for plain threads: an asyncio client in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import pytest

from mqframe.client.connection.lifecycle import AsyncClient
from mqframe.client.connection.sync_api import SyncClient, called_in_thread, looped
from mqframe.core.errors import ClosedError


class Client(AsyncClient):
    def __init__(self, fails: bool = False) -> None:
        self.events: list[str] = []
        self.fails = fails
        self.started = threading.Event()

    async def start(self) -> None:
        self.started.set()
        self.events.append(f"start in {threading.current_thread().name}")
        if self.fails:
            raise ValueError("mine")

    async def stop(self) -> None:
        self.events.append("stop")

    async def where(self) -> str:
        return threading.current_thread().name

    async def counted(self, end: int) -> AsyncGenerator[tuple[int, str], None]:
        try:
            for number in range(end):
                yield number, threading.current_thread().name
        finally:
            self.events.append(f"loop left in {threading.current_thread().name}")

    def here(self, mark: str = "") -> str:
        return threading.current_thread().name + mark


class Wrapped(SyncClient[Client]):
    def where(self) -> str:
        return self._call(self._client.where)

    def here(self) -> str:
        return self._do(self._client.here, mark="!")

    def tell(self, listener: Callable[[str], Any] | None, word: str) -> None:
        called = called_in_thread(listener)
        assert called is not None
        self._call(called, word)

    def counted(self, end: int) -> Iterator[tuple[int, str]]:
        return looped(self, self._client.counted(end))

    def here_from_inside(self) -> str:
        async def inside() -> str:
            return self.here()

        return self._call(inside)


def test_calls_run_in_its_thread_until_it_is_stopped() -> None:
    client = Client()
    sync = Wrapped(client, "client", "g")
    assert sync.here() == threading.current_thread().name + "!"
    with pytest.raises(ClosedError, match="the client of group g is not running"):
        sync.where()
    sync.start()
    assert sync.where() == "mqframe-client-g"
    assert sync.here() == "mqframe-client-g!"
    assert sync.here_from_inside() == "mqframe-client-g!", "its own thread does not wait for itself"
    sync.stop()
    sync.stop()
    assert client.events == ["start in mqframe-client-g", "stop"]
    with pytest.raises(ClosedError, match="the client of group g was stopped; make a new one"):
        sync.start()
    with pytest.raises(ClosedError, match="is not running: it was stopped"):
        sync.where()


def test_whether_a_second_start_is_a_fault_is_for_the_client_to_say() -> None:
    client = Client()
    with Wrapped(client, "client") as sync:
        client.fails = True
        with pytest.raises(ValueError, match="mine"):
            sync.start()
        assert sync.where() == "mqframe-client", "it runs on"
    assert client.events == ["start in mqframe-client"] * 2 + ["stop"]


def test_a_start_that_fails_may_be_tried_again() -> None:
    client = Client(fails=True)
    sync = Wrapped(client, "client")
    before = threading.active_count()
    with pytest.raises(ValueError, match="mine"):
        sync.start()
    assert threading.active_count() == before
    client.fails = False
    with sync:
        pass
    assert client.events[-1] == "stop"
    assert threading.active_count() == before


def test_listeners_run_in_threads_and_may_wait_for_the_client() -> None:
    assert called_in_thread(None) is None
    client = Client()
    with Wrapped(client, "client") as sync:
        seen: list[tuple[str, str]] = []
        sync.tell(lambda word: seen.append((word, sync.where())), "word")
        assert seen == [("word", "mqframe-client")]


def test_what_a_loop_brings_is_made_in_its_thread_one_by_one() -> None:
    client = Client()
    with Wrapped(client, "client") as sync:
        assert list(sync.counted(3)) == [(number, "mqframe-client") for number in range(3)]
        assert client.events[1:] == ["loop left in mqframe-client"]


def test_a_loop_that_is_left_is_left_in_its_thread_at_once() -> None:
    client = Client()
    with Wrapped(client, "client") as sync:
        for number, _ in sync.counted(100):
            if number == 5:
                break
        assert client.events[1:] == ["loop left in mqframe-client"]


def test_a_loop_ends_when_the_client_is_stopped_and_does_not_begin_before_it_is_started() -> None:
    sync = Wrapped(Client(), "client")
    with pytest.raises(ClosedError, match="is not running"):
        next(sync.counted(3))
    with sync:
        numbers = []
        for number, _ in sync.counted(100):
            numbers.append(number)
            if number == 5:
                sync.stop()
        assert numbers == list(range(6))


def test_what_a_loop_raises_is_raised() -> None:
    class Failing(Client):
        async def counted(self, end: int) -> AsyncGenerator[tuple[int, str], None]:
            yield 1, "one"
            raise LookupError(end)

    with Wrapped(Failing(), "client") as sync:
        counted = sync.counted(7)
        assert next(counted) == (1, "one")
        with pytest.raises(LookupError, match="7"):
            next(counted)


def test_a_loop_that_is_interrupted_while_it_waits_is_left_to_the_cancellation() -> None:
    waiting, asked = threading.Event(), []

    class Waiting(Client):
        async def counted(self, end: int) -> AsyncGenerator[tuple[int, str], None]:
            waiting.set()
            await asyncio.Event().wait()
            yield 1, "one"

    class Interrupted(Wrapped):
        def _call(self, method, *args, **kwargs):
            asked.append(method.__name__)
            self._thread().submit(method(*args, **kwargs))
            assert waiting.wait(60)
            raise KeyboardInterrupt

    with Interrupted(Waiting(), "client") as sync, pytest.raises(KeyboardInterrupt):
        next(sync.counted(7))
    assert asked == ["__anext__"]
