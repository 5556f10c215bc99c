"""Something on loopback that speaks HTTP as a member of etcd does, and answers what a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """One request."""

    path: str
    body: dict[str, Any]
    token: str


class Lines(NamedTuple):
    """An answer in lines; the stream stays open behind them, or breaks."""

    lines: list[bytes]
    breaks: bool = False


SILENCE = Lines([])
HANG_UP = b""
Answer = tuple[int, bytes] | Lines | bytes
"""Status and body; lines; or bytes as they are, before the connection ends."""


def good(**message: Any) -> Answer:
    return 200, json.dumps(message).encode()


def bad(code: int, message: str, status: int = 500) -> Answer:
    return status, json.dumps({"error": message, "message": message, "code": code}).encode()


class ScriptedMember:
    """`answer` is called for each request; `asked` has them all."""

    def __init__(self, answer: Callable[[Asked], Answer]) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> ScriptedMember:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._connections):
            writer.close()
        await self._server.wait_closed()

    @property
    def endpoint(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while await self._one(reader, writer):
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client went
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *rest = head.splitlines()
        headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in rest)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        asked = Asked(first.split()[1], body, headers.get("authorization", ""))
        self.asked.append(asked)
        answer = self.answer(asked)
        if isinstance(answer, bytes):
            writer.write(answer)
            return False
        if isinstance(answer, Lines):
            if answer.lines:
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for line in answer.lines:
                writer.write(b"%x\r\n%b\r\n" % (len(line) + 1, line + b"\n"))
            await writer.drain()
            return not answer.breaks and await _closed(reader)
        status, content = answer
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(content), content))
        return True


async def _closed(reader: asyncio.StreamReader) -> bool:
    while await reader.read(1024):
        pass
    return False
