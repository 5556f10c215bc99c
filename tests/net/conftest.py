"""A server in a thread of its own, and blocking clients of it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from peers import ServerThread

from mqframe.net.blocking import BlockingClient
from mqframe.net.clock import SystemClock


@pytest.fixture
def server() -> Iterator[ServerThread]:
    thread = ServerThread()
    yield thread
    thread.close()


@pytest.fixture
def client() -> Iterator[BlockingClient]:
    made = BlockingClient(SystemClock())
    yield made
    made.close()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as made:
        yield made
