"""What the tests of `mqframe.net` share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from mqframe.core.frame import Frame, FrameDecoder, encode_frame
from mqframe.core.requests import nameserver as ns

ROUTE = ns.GetRouteinfoByTopic
CLUSTER = ns.GetBrokerClusterInfo
LIST = ns.GetKvlistByNamespace


def run(scenario: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a scenario that talks over loopback; a hang becomes an error."""

    async def bounded() -> Any:
        async with asyncio.timeout(20):
            return await scenario()

    return asyncio.run(bounded())


class Raw:
    """A peer that sends and reads plain bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.decoder = FrameDecoder()

    @classmethod
    async def open(cls, port: int) -> Raw:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    def send(self, *frames: Frame | bytes) -> None:
        self.writer.write(b"".join(f if isinstance(f, bytes) else encode_frame(f) for f in frames))

    async def frame(self) -> Frame:
        while (frame := self.decoder.next_frame()) is None:
            data = await self.reader.read(65536)
            assert data, "the connection was closed"
            self.decoder.receive(data)
        frame.body = bytes(frame.body)
        return frame

    async def closed(self) -> bytes:
        """What still came before the other side closed."""
        try:
            return await self.reader.read()
        except ConnectionResetError:
            return b""

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            return
