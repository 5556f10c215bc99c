"""Who finds room among the connections of browsers."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import httpx
import uvicorn
from mqframe_dashboard.connections import CONNECTIONS_MAX, QUIET_SECONDS, REFUSED_MAX, Room, config
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

REQUEST = b"GET /page HTTP/1.1\r\nHost: here\r\n\r\n"
FORM = b"POST /page HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\nhalf"


class Scene:
    """A server of one page. `seconds`: what its clock says."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.answering = asyncio.Event()
        self.answering.set()
        self.asked = 0
        self._stack = contextlib.AsyncExitStack()

    async def _page(self, request: Request) -> PlainTextResponse:
        self.asked += 1
        said = await request.body()
        await self.answering.wait()
        return PlainTextResponse(b"page " + said)

    async def __aenter__(self) -> Scene:
        app = Starlette(routes=[Route("/page", self._page, methods=["GET", "POST"])])
        server = uvicorn.Server(config(app, Room(lambda: self.seconds)))
        listener = self._stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.port = listener.getsockname()[1]
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))

        async def end() -> None:
            self.answering.set()
            server.should_exit = True
            await serving

        self._stack.push_async_callback(end)
        while not server.started:
            await asyncio.sleep(0)
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._stack.aclose()

    async def connect(self, said: bytes = b"") -> asyncio.StreamReader:
        """A connection that has said `said`. It lasts as long as the scene."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._stack.callback(writer.close)
        writer.write(said)
        return reader

    async def get(self) -> tuple[int, str]:
        """Status and text of the page, by a connection of its own."""
        async with httpx.AsyncClient() as browser:
            answer = await browser.get(f"http://127.0.0.1:{self.port}/page")
            return answer.status_code, answer.text

    async def until_asked(self, count: int) -> None:
        """Wait until `count` requests have begun."""
        while self.asked < count:
            await asyncio.sleep(0)


async def taken(reader: asyncio.StreamReader) -> None:
    """Wait until the server has answered by the connection of `reader`."""
    await reader.readuntil(b"page ")


async def test_the_longest_silent_connection_gives_way() -> None:
    async with Scene() as scene:
        silent = [await scene.connect() for _ in range(CONNECTIONS_MAX)]
        half = b"GET /page HTTP/1.1\r\n"
        assert (await scene.get())[0] == 503  # all have just come
        scene.seconds += QUIET_SECONDS
        assert await scene.get() == (200, "page ")
        assert await silent[0].read() == b""
        assert not silent[1].at_eof()
        for _ in range(2 * CONNECTIONS_MAX):
            scene.seconds += QUIET_SECONDS
            await scene.connect(half)
        assert await scene.get() == (200, "page ")
        assert [await each.read() for each in silent] == [b""] * CONNECTIONS_MAX


async def test_who_waits_for_an_answer_does_not_give_way() -> None:
    async with Scene() as scene:
        scene.answering.clear()
        asking = [await scene.connect(REQUEST) for _ in range(CONNECTIONS_MAX)]
        await scene.until_asked(CONNECTIONS_MAX)
        scene.seconds += 3600.0
        assert (await scene.get())[0] == 503
        scene.answering.set()
        for each in asking:
            await taken(each)


async def test_who_keeps_its_connection_after_an_answer_gives_way() -> None:
    async with Scene() as scene:
        kept = [await scene.connect(REQUEST) for _ in range(CONNECTIONS_MAX)]
        for each in kept:
            await taken(each)
        scene.seconds += QUIET_SECONDS
        assert await scene.get() == (200, "page ")


async def test_who_does_not_finish_a_form_gives_way() -> None:
    async with Scene() as scene:
        half = [await scene.connect(FORM) for _ in range(CONNECTIONS_MAX)]
        await scene.until_asked(CONNECTIONS_MAX)
        scene.seconds += QUIET_SECONDS
        assert await scene.get() == (200, "page ")
        assert await half[0].read() == b""


async def test_a_form_that_is_sent_whole_is_answered() -> None:
    async with Scene() as scene:
        reader = await scene.connect(FORM + b" whole")
        assert (await reader.readuntil(b"half whole")).startswith(b"HTTP/1.1 200 OK\r\n")


class Transport:
    """What a room knows of a connection."""

    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


def test_a_flood_is_closed_at_once() -> None:
    room = Room(lambda: 0.0)
    callers = [Transport() for _ in range(CONNECTIONS_MAX + REFUSED_MAX)]
    assert all(room.enter(each) for each in callers)
    assert not room.enter(Transport())
    room.leave(callers[0])
    assert room.enter(Transport())
    assert not any(each.aborted for each in callers)
