"""A dashboard over a cluster in the process, asked without sockets."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from mqframe_dashboard import create_app
from mqframe_testing import Cluster

from mqframe import Message, Producer

sys.path.insert(0, str(Path(__file__).parent))

T = TypeVar("T")
LOADS_MAX = 3
"""Of one page, until it is there: the machine may have stood still for as long as a cluster is waited for."""


class Browser:
    """Loads pages of a dashboard that runs in a loop and a thread of its own.

    As any server's, the loop never stands still: time limits of what it asks go on between two pages.
    """

    def __init__(self, nameserver: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="dashboard")
        self._thread.start()
        self._stack = AsyncExitStack()
        try:
            self._client = self._run(self._open(nameserver, options))
        except BaseException:
            self._end()
            raise

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _open(self, nameserver: str, options: dict[str, Any]) -> httpx.AsyncClient:
        app = create_app(nameserver, **options)
        await self._stack.enter_async_context(app.router.lifespan_context(app))
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")
        return await self._stack.enter_async_context(client)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The answer to any request."""
        return self._run(self._client.request(method, path, **options))

    @property
    def cookies(self) -> httpx.Cookies:
        """What it was given."""
        return self._client.cookies

    @cookies.setter
    def cookies(self, values: dict[str, str]) -> None:
        self._client.cookies.clear()
        self._client.cookies.update(values)

    def both(self, *requests: dict[str, Any]) -> list[httpx.Response]:
        """The answers to several requests that are made at the same time."""

        async def ask() -> list[httpx.Response]:
            return await asyncio.gather(*[self._client.request(**each) for each in requests])

        return self._run(ask())

    def get(self, path: str, **query: Any) -> httpx.Response:
        """The answer to a GET with a query string."""
        return self.request("GET", path, params=query or None)

    def page(self, path: str, **query: Any) -> str:
        """The HTML of a page that is there. Loaded again, as it does itself, where the cluster was late."""
        for _ in range(LOADS_MAX):
            answer = self.get(path, **query)
            if answer.status_code != 503:
                break
        assert answer.status_code == 200, answer.text
        return answer.text

    def close(self) -> None:
        try:
            self._run(self._stack.aclose())
        finally:
            self._end()

    def _end(self) -> None:
        self._run(self._loop.shutdown_asyncgens())
        self._run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def open_browser() -> Iterator[Callable[..., Browser]]:
    """Makes browsers of dashboards, with the arguments of `create_app`; they end with the test."""
    made: list[Browser] = []

    def open_one(nameserver: str, **options: Any) -> Browser:
        made.append(Browser(nameserver, **options))
        return made[-1]

    yield open_one
    for each in made:
        each.close()


@pytest.fixture
def browser(mqframe_cluster: Cluster, open_browser: Callable[..., Browser]) -> Browser:
    """A browser of a dashboard of `mqframe_cluster`."""
    return open_browser(mqframe_cluster.nameserver)


@pytest.fixture
def send(mqframe_cluster: Cluster) -> Iterator[Callable[..., Any]]:
    """Sends one message, given by the arguments of `Message`; returns the result."""
    with Producer(group="shop", nameserver=mqframe_cluster.nameserver) as producer:
        yield lambda *fields, **more: producer.send(Message(*fields, **more))
