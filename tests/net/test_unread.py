from __future__ import annotations

import asyncio
import socket

from mqframe.net.unread import unread


class Ended(asyncio.Protocol):
    """Keeps what its connection ended with: the data that was read, the rest, and the error."""

    def __init__(self) -> None:
        self.read = b""
        self.over: asyncio.Future[tuple[bytes, Exception | None]] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.read += data
        # The first meets a side that has left, and makes the system say so to the second.
        self.transport.write(b"answer")
        self.transport.write(b"answer")

    def connection_lost(self, exc: Exception | None) -> None:
        self.over.set_result((unread(self.transport), exc))


async def test_a_write_that_breaks_the_connection_leaves_what_is_unread() -> None:
    loop = asyncio.get_running_loop()
    near, far = socket.socketpair()
    far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    sent = bytes(range(250)) * 2000
    far.sendall(sent[: len(sent) // 2])
    _, protocol = await loop.create_connection(Ended, sock=near)
    protocol.transport.pause_reading()
    far.setblocking(False)
    written = far.send(sent[len(sent) // 2 :])
    far.close()
    protocol.transport.resume_reading()
    rest, problem = await protocol.over
    assert isinstance(problem, OSError)
    assert rest
    assert protocol.read + rest == sent[: len(sent) // 2 + written]


def test_where_there_is_no_socket_nothing_is_unread() -> None:
    assert unread(None) == b""
    assert unread(asyncio.Transport()) == b""
