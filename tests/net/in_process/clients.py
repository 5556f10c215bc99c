"""A server with peers in its process, and the clients behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import Any

from mqframe_testing.manual_clock import ManualClock
from peers import ROUTE

from mqframe.core.requests.fields import Request
from mqframe.core.requests.serving import Handler, Reply
from mqframe.hooks.interfaces import ProxiedClient
from mqframe.net.in_process.peer import InProcessPeer
from mqframe.net.in_process.requests import InProcessRequests
from mqframe.net.peer_group import PeerEvents
from mqframe.net.server import Server


class Client(ProxiedClient):
    """Keeps what it is notified of and asked, and why it ended; `problem` is raised then."""

    def __init__(self, **fields: Any) -> None:
        self.address = "10.0.0.7:4711"
        for name, value in fields.items():
            setattr(self, name, value)
        self.got: list[tuple[Request, bytes]] = []
        self.ends: list[str] = []
        self.problem: Exception | None = None
        self.answers: list[asyncio.Future[Reply]] = []

    def notified(self, request: Request, body: Any) -> None:
        if self.problem is not None:
            raise self.problem
        self.got.append((request, bytes(body)))

    async def asked(self, request: Request, body: Any) -> Reply:
        self.notified(request, body)
        self.answers.append(asyncio.get_running_loop().create_future())
        return await self.answers[-1]

    def closed(self, reason: str) -> None:
        self.ends.append(reason)
        if self.problem is not None:
            raise self.problem


class Place:
    """A running server. `ends`: the peers that it was told had ended; `until`: what turns wait for."""

    def __init__(self, handlers: Mapping[int, Handler], **options: Any) -> None:
        self.clock = ManualClock()
        self.ends: list[Any] = []
        self.turns = 0
        self.until: asyncio.Future[Any] | None = None
        events = PeerEvents(self._turn, self.ends.append)
        handlers = {ROUTE.CODE if code == 1 else code: handler for code, handler in handlers.items()}
        settings = options.pop("settings", None)
        self.server = Server(handlers, self.clock, settings, events=events, **options)
        self.requests = InProcessRequests()
        self.server.serve_in_process(self.requests)

    def _turn(self) -> asyncio.Future[Any] | None:
        self.turns += 1
        return self.until

    def ask(self, peer: InProcessPeer, body: Any = b"", **more: Any) -> Any:
        """Request 1, which is that for a route, as a task that has run as far as it comes in one turn."""
        return peer.ask(ROUTE("t"), body, **more)

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


@asynccontextmanager
async def served(handlers: Mapping[int, Handler], **options: Any) -> Any:
    place = Place(handlers, **options)
    await place.server.start("127.0.0.1", 0)
    try:
        yield place
    finally:
        await place.server.stop()


def at_once(asking: Any) -> Reply:
    """The answer of a request that needs no turn of the loop."""
    try:
        asking.send(None)
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    asking.close()
    raise AssertionError("it waits")
