"""The end of a master that a follower is connected to, which says what the test likes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from mqframe_replication.stream.follower import MasterFollower

from mqframe.core.errors import StoreError


class MasterEnd:
    """Of the connection of `follower`: `writer` is what it hears, `reader` gets what it reports."""

    follower: MasterFollower[Any]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def connect(self, *, begin: bool = True) -> asyncio.Server:
        """Have the follower connect; `begin`: it follows from then on."""
        came: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.reader, self.writer = reader, writer
            came.set_result(None)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        await self.follower.connect(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await came
        if begin:
            self.follower.begin()
        return server


End = TypeVar("End", bound=MasterEnd)


@asynccontextmanager
async def connected(end: End) -> AsyncIterator[End]:
    """`end`, to which its follower is connected meanwhile."""
    server = await end.connect()
    try:
        yield end
    finally:
        end.follower.close()
        end.writer.close()
        server.close()
        await server.wait_closed()


class Target:
    """A log that takes what comes but records of `bad`."""

    def __init__(self) -> None:
        self.max_offset = 1000
        self.is_whole = True
        self.data = b""
        self.forgotten = self.dispatched = 0

    def append_copy(self, offset: int, *parts: bytes | memoryview) -> None:
        data = b"".join(parts)
        if b"bad" in data:
            raise StoreError("no sound record")
        assert offset == self.max_offset
        self.data += data
        self.max_offset += len(data)

    def forget_partial(self) -> None:
        self.forgotten += 1

    def dispatch_soon(self) -> None:
        self.dispatched += 1
