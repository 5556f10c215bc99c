"""A socket with TLS for plain threads: one of them may wait for bytes while others send."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Callable

from mqframe.net.addresses import CLOSED
from mqframe.net.tls.contexts import broken
from mqframe.net.tls.pipe import TlsPipe

_RECEIVE_BYTES = 64 * 1024


def secure(connection: socket.socket, pipe: TlsPipe, seconds_left: Callable[[], float]) -> TlsSocket:
    """Shake hands over `connection`.

    `seconds_left`: until it must be done. Raises `ssl.SSLError`, `TimeoutError`, `ConnectionError`.
    """
    early = b""
    while True:
        connection.settimeout(max(0.001, seconds_left()))
        try:
            if out := pipe.outgoing():
                connection.sendall(out)
            if pipe.established:
                return TlsSocket(connection, pipe, early)
            data = connection.recv(_RECEIVE_BYTES)
            if not data:
                raise ConnectionResetError(CLOSED)
            early = pipe.receive(data)
        except ssl.SSLError:
            connection.settimeout(0)
            _try_send(connection, pipe.outgoing())  # why this side refuses, if that can be told at once
            raise


def _try_send(connection: socket.socket, data: bytes | memoryview) -> int:
    try:
        return connection.send(data, socket.MSG_DONTWAIT) if data else 0
    except BlockingIOError:
        return 0


class TlsSocket:
    """The calls of a socket that `BlockingPeer` uses, without blocking where it does not, and the reverse.

    All that was received is decrypted at once, so that a socket which has nothing to read has nothing
    hidden either. `send` takes all or nothing: when it took data that cannot leave yet it says so by
    counting one byte, and the next call, which must bring the rest, sends what waits.
    """

    def __init__(self, connection: socket.socket, pipe: TlsPipe, early: bytes = b"") -> None:
        self._socket = connection
        self._pipe = pipe
        self._early = early
        self._lock = threading.Lock()
        self._out: bytes | memoryview = b""
        self._taken = False
        self.fileno = connection.fileno
        self.setsockopt = connection.setsockopt
        self.settimeout = connection.settimeout
        self.getsockname = connection.getsockname
        self.shutdown = connection.shutdown
        self.close = connection.close

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """What can be decrypted of up to `size` bytes that are received; never empty.

        Raises `BlockingIOError` when there is nothing yet, as the socket does, and `OSError` at the end, too.
        """
        if self._early:
            early, self._early = self._early, b""
            return early
        data = b"" if self._pipe.ended else self._socket.recv(size, flags)
        if not data:
            raise ConnectionResetError(CLOSED)
        with self._lock:
            try:
                plain = self._pipe.receive(data)
            except ssl.SSLError as problem:
                raise ConnectionError(broken(problem)) from None
            if own := self._pipe.outgoing():
                self._out = bytes(self._out) + own
                self._push()
        if plain:
            return plain
        if self._pipe.ended:
            raise ConnectionResetError(CLOSED)
        raise BlockingIOError  # part of a record, or one of the session's own

    def send(self, data: bytes | memoryview, flags: int = 0, /) -> int:
        """How many bytes of `data` count as sent. Raises `BlockingIOError` when none is, and `OSError`."""
        with self._lock:
            if not self._push():
                raise BlockingIOError
            if self._taken:
                self._taken = False
                return len(data)
            poll = select.poll()
            poll.register(self._socket, select.POLLOUT)
            if not poll.poll(0):
                raise BlockingIOError
            try:
                self._out = self._pipe.send(data)
            except ssl.SSLError as problem:
                raise ConnectionError(broken(problem)) from None
            if self._push():
                return len(data)
            self._taken = True
            return 1

    def _push(self) -> bool:
        """Send what waits encrypted; whether nothing is left of it."""
        if self._out:
            self._out = memoryview(self._out)[_try_send(self._socket, self._out) :]
        return not self._out
