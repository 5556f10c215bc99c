"""Connections of browsers: there is room for so many, and those that say nothing keep nobody out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, cast

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

CONNECTIONS_MAX: Final = 64
"""Connections at once; beyond them the longest silent one gives way, or the new one is answered 503."""
REFUSED_MAX: Final = 64
"""So many more are answered that there is no room; further ones are closed at once."""
QUIET_SECONDS: Final = 1.0
"""So long a connection may say nothing whole while others come."""

_caller: ContextVar[asyncio.BaseTransport] = ContextVar("caller")


class Room:
    """The connections that there are, and since when those are silent that owe us something.

    That is a request, or the rest of one. `monotonic`: seconds of a clock that never goes back. Belongs to
    the loop.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._open: set[asyncio.BaseTransport] = set()
        self._silent: dict[asyncio.BaseTransport, float] = {}

    def enter(self, caller: asyncio.BaseTransport) -> bool:
        """Make room for `caller`; false where it is to be closed."""
        if len(self._open) >= CONNECTIONS_MAX:
            first = next(iter(self._silent), None)
            if first is not None and self._monotonic() - self._silent[first] >= QUIET_SECONDS:
                self.leave(first)
                cast("asyncio.Transport", first).abort()
            elif len(self._open) >= CONNECTIONS_MAX + REFUSED_MAX:
                return False
        self._open.add(caller)
        self.waits(caller)
        return True

    def leave(self, caller: asyncio.BaseTransport) -> None:
        """`caller` is gone."""
        self._open.discard(caller)
        self._silent.pop(caller, None)

    def waits(self, caller: asyncio.BaseTransport) -> None:
        """`caller` is to say something."""
        if caller in self._open:
            self._silent[caller] = self._monotonic()

    def said(self, caller: asyncio.BaseTransport) -> None:
        """`caller` has said it, and waits for us."""
        self._silent.pop(caller, None)


def config(app: ASGIApp, room: Room) -> uvicorn.Config:
    """How `app` is served to those who find `room`."""

    class Caller(asyncio.Protocol):
        """One connection: what is heard goes on to uvicorn's protocol."""

        def __init__(self, *args: Any, **options: Any) -> None:
            self._inner: asyncio.Protocol = AutoHTTPProtocol(*args, **options)
            self._transport: asyncio.BaseTransport | None = None

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self._transport = transport
            if not room.enter(transport):
                cast("asyncio.Transport", transport).abort()
            self._inner.connection_made(transport)

        def data_received(self, data: bytes) -> None:
            if self._transport is not None:
                _caller.set(self._transport)  # the task that a request begins takes it along
            self._inner.data_received(data)

        def eof_received(self) -> bool | None:
            return self._inner.eof_received()

        def pause_writing(self) -> None:
            self._inner.pause_writing()

        def resume_writing(self) -> None:
            self._inner.resume_writing()

        def connection_lost(self, problem: Exception | None) -> None:
            if self._transport is not None:
                room.leave(self._transport)
            self._inner.connection_lost(problem)

    return uvicorn.Config(
        _Heard(app, room),
        http=Caller,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS_MAX + 1,  # uvicorn counts the one that asks
        timeout_graceful_shutdown=5,
    )


class _Heard:
    """ASGI middleware: tells `room` who has said all of a request, and who was answered."""

    def __init__(self, app: ASGIApp, room: Room) -> None:
        self._app = app
        self._room = room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        caller = _caller.get(None)
        if scope["type"] != "http" or caller is None:
            await self._app(scope, receive, send)
            return
        room, whole = self._room, False

        async def heard() -> Message:
            nonlocal whole
            if whole:  # from now on it waits for the answer, and this only for its leaving
                return await receive()
            room.waits(caller)
            message = await receive()
            room.said(caller)
            whole = not message.get("more_body", False)
            return message

        room.said(caller)
        try:
            await self._app(scope, heard, send)
        finally:
            room.waits(caller)
