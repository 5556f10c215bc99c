"""Clients for plain threads: an asyncio client in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mqframe.client.connection.lifecycle import AsyncClient
from mqframe.client.connection.sync_api import SyncClient, called_in_thread
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
