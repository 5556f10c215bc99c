from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import certificates
import pytest

from mqframe.net.tls.contexts import client_context, server_context
from mqframe.net.tls.pipe import TlsPipe
from mqframe.net.tls.socket import TlsSocket, secure


class Far:
    """The server's side of a pair of sockets."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        self.connection = connection
        self.pipe = TlsPipe(context, server_side=True)

    def shake(self) -> None:
        while not self.pipe.established:
            self.pipe.receive(self.connection.recv(65536))
            self.connection.sendall(self.pipe.outgoing())

    def read(self) -> bytes:
        """What can be read without waiting."""
        data = b""
        while True:
            try:
                data += self.pipe.receive(self.connection.recv(65536, socket.MSG_DONTWAIT))
            except BlockingIOError:
                return data


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[tuple[TlsSocket, Far]]:
    pems = certificates.make(tmp_path)
    client, server = client_context(pems.client()), server_context(pems.server())
    assert client is not None
    assert server is not None
    near, distant = socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    far = Far(distant, server)
    thread = threading.Thread(target=far.shake)
    thread.start()
    secured = secure(near, TlsPipe(client, host="127.0.0.1"), lambda: 20.0)
    thread.join()
    secured.settimeout(None)
    yield secured, far
    near.close()
    distant.close()


def test_what_cannot_leave_yet_counts_as_begun(sides: tuple[TlsSocket, Far]) -> None:
    near, far = sides
    data = bytes(range(256)) * 400
    assert near.send(data, socket.MSG_DONTWAIT) == 1
    with pytest.raises(BlockingIOError):
        near.send(data[1:], socket.MSG_DONTWAIT)
    got, sent = b"", 1
    while sent < len(data):
        got += far.read()
        try:
            sent += near.send(data[sent:], socket.MSG_DONTWAIT)
        except BlockingIOError:
            continue
    assert got + far.read() == data
    assert near.send(b"next", socket.MSG_DONTWAIT) == 4
    assert far.read() == b"next"


@pytest.mark.parametrize("size", [10, 500, 3000])
def test_what_was_taken_arrives_and_nothing_else(sides: tuple[TlsSocket, Far], size: int) -> None:
    near, far = sides
    expected, number, begun = b"", 0, 0
    while number < 1000:
        data = (b"%d," % number).ljust(size, b".")
        try:
            sent = near.send(data[begun:], socket.MSG_DONTWAIT)
        except BlockingIOError:
            break  # full: `data` was not taken, unless it was begun
        begun, number = (sent, number) if sent < size - begun else (0, number + 1)
        expected += b"" if begun else data
    got = far.read()
    if begun:
        assert near.send(data[1:], socket.MSG_DONTWAIT) == size - 1
        expected += data
    assert near.send(b"end", socket.MSG_DONTWAIT) == 3
    assert got + far.read() == expected + b"end"


def test_nothing_to_read_is_told_as_the_socket_does(sides: tuple[TlsSocket, Far]) -> None:
    near, far = sides
    with pytest.raises(BlockingIOError):  # the session's own records may be there, but nothing for anybody
        near.recv(65536, socket.MSG_DONTWAIT)
    wire = far.pipe.send(b"hello")
    far.connection.sendall(wire[:9])
    with pytest.raises(BlockingIOError):
        near.recv(65536, socket.MSG_DONTWAIT)
    far.connection.sendall(wire[9:])
    assert near.recv(65536, socket.MSG_DONTWAIT) == b"hello"


def test_all_that_was_received_is_given_out_at_once(sides: tuple[TlsSocket, Far]) -> None:
    near, far = sides
    far.connection.sendall(far.pipe.send(b"a" * 40_000) + far.pipe.send(b"b"))
    got = b""
    while len(got) < 40_001:
        got += near.recv(1 << 20)
    assert got == b"a" * 40_000 + b"b"
    with pytest.raises(BlockingIOError):
        near.recv(65536, socket.MSG_DONTWAIT)


@pytest.mark.parametrize("politely", [True, False])
def test_the_end_is_an_error(sides: tuple[TlsSocket, Far], politely: bool) -> None:
    near, far = sides
    with pytest.raises(BlockingIOError):  # what the handshake left
        near.recv(65536, socket.MSG_DONTWAIT)
    if politely:
        far.connection.sendall(far.pipe.send(b"bye") + far.pipe.farewell())
        assert near.recv(65536) == b"bye"
    else:
        far.connection.close()
    with pytest.raises(ConnectionResetError, match="closed by the other side"):
        near.recv(65536)


def test_a_handshake_ends_in_time(tmp_path: Path) -> None:
    context = client_context(certificates.make(tmp_path).client())
    assert context is not None
    near, far = socket.socketpair()
    with near, far:
        left = iter([5.0, 0.0])
        with pytest.raises(TimeoutError):
            secure(near, TlsPipe(context, host="127.0.0.1"), lambda: next(left, 0.0) and 0.01)
