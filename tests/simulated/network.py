"""Connections in memory: two transports, each of which hands on what the other one writes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

READ_BYTES_MAX = 256 * 1024
"""What one read of a socket gives at most, as asyncio has it."""


class Listener:
    """What `create_server` returns, as far as servers use it."""

    def __init__(self, listeners: dict[int, Callable[[], asyncio.BaseProtocol]], port: int) -> None:
        self._listeners = listeners
        self._port = port
        self.sockets = [self]

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", self._port

    def close(self) -> None:
        self._listeners.pop(self._port, None)

    async def wait_closed(self) -> None:
        return


class End(asyncio.Transport):
    """One end of a connection. Bytes wait at the other end while that does not read."""

    def __init__(self, loop: asyncio.AbstractEventLoop, own_port: int, peer_port: int) -> None:
        super().__init__({"peername": ("127.0.0.1", peer_port), "sockname": ("127.0.0.1", own_port)})
        self._loop = loop
        self.protocol: Any = None
        self.other: End
        self._inbox: deque[bytes] = deque()
        self._inbox_bytes = 0
        self._reading = True
        self._due = False
        self._closing = False
        self._lost = False
        self._high, self._low = 64 * 1024, 16 * 1024
        self._full = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closing or self.other._lost:
            return
        raw = bytes(data)
        for at in range(0, len(raw), READ_BYTES_MAX):
            self.other._inbox.append(raw[at : at + READ_BYTES_MAX])
        self.other._inbox_bytes += len(raw)
        if self.other._inbox_bytes > self._high and not self._full:
            self._full = True
            self.protocol.pause_writing()
        self.other._ring()

    def _ring(self) -> None:
        if self._inbox and self._reading and not self._due:
            self._due = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        self._due = False
        if self._lost or self._closing:
            self._inbox.clear()
            self._inbox_bytes = 0
        if not self._inbox or not self._reading:
            return
        data = self._inbox.popleft()
        self._inbox_bytes -= len(data)
        try:
            self.protocol.data_received(data)
        finally:
            writer = self.other
            if writer._full and self._inbox_bytes <= writer._low:
                writer._full = False
                if not writer._lost:
                    writer.protocol.resume_writing()
            self._ring()

    def get_write_buffer_size(self) -> int:
        return self.other._inbox_bytes

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = 64 * 1024 if high is None else high
        self._low = self._high // 4 if low is None else low

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._ring()

    def is_reading(self) -> bool:
        return self._reading

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._end)

    def abort(self) -> None:
        self.close()

    def _end(self) -> None:
        """What was written before still arrives, then the other side hears of the end."""
        if self._lost:
            return
        self._lost = self._closing = True
        self._inbox.clear()
        self.protocol.connection_lost(None)
        if self.other._inbox and self.other._reading:
            self._loop.call_soon(self._tell)
        else:
            self.other._end()

    def _tell(self) -> None:
        if self.other._inbox and self.other._reading and not self.other._closing:
            self._loop.call_soon(self._tell)
        else:
            self.other._end()


class Wire:
    """A connection: `near` is the end of whoever opened it, `far` that of the server."""

    def __init__(self, loop: asyncio.AbstractEventLoop, near_port: int, far_port: int) -> None:
        self.near, self.far = End(loop, near_port, far_port), End(loop, far_port, near_port)
        self.near.other, self.far.other = self.far, self.near
