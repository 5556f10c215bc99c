"""TLS as a layer of asyncio: between a transport and the protocol of a plain connection."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any, cast

from mqframe.net.addresses import CLOSED
from mqframe.net.tls.contexts import broken
from mqframe.net.tls.pipe import TlsPipe
from mqframe.net.unread import unread


class TlsProtocol(asyncio.Protocol):
    """Turns the bytes of one connection into those of `inner`, which hears of it once it is secured.

    `done` is told once how the handshake ended: with `None`, or with what was wrong. `linger`: whether a side
    that is refused may go on sending for a while, so that it gets to read why; its connection is not reset,
    and `done` hears of it when it is over.
    """

    def __init__(
        self,
        pipe: TlsPipe,
        inner: asyncio.Protocol,
        done: Callable[[Exception | None], None],
        *,
        linger: bool = False,
    ) -> None:
        self.pipe = pipe
        self._inner = inner
        self._done = done
        self._linger = linger
        self._shaking = True
        self._made = False
        self._problem: Exception | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake (asyncio.Protocol)."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self.pipe.outgoing())

    def data_received(self, data: bytes) -> None:
        """Decrypt what came (asyncio.Protocol)."""
        transport = self._transport
        if transport is None or transport.is_closing() or self._problem is not None:
            return
        try:
            plain = self.pipe.receive(data)
        except ssl.SSLError as problem:
            self.fail(problem)
            return
        if out := self.pipe.outgoing():
            transport.write(out)
        if self._shaking and self.pipe.established:
            self._made = True
            self._inner.connection_made(TlsTransport(transport, self))
            self._end_handshake(None)
        if plain:
            self._inner.data_received(plain)
        if self.pipe.ended:
            transport.close()

    def fail(self, problem: ssl.SSLError) -> None:
        """Tell the other side that the session broke, and close."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        self._problem = problem if self._shaking else ConnectionError(broken(problem))
        if out := self.pipe.outgoing():
            transport.write(out)
        if self._shaking and self._linger:
            transport.write_eof()
        else:
            transport.close()

    def hand_on(self, inner: asyncio.Protocol) -> None:
        """Have `inner` hear of the connection from now on."""
        self._inner = inner

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on what the system still holds, and the end (asyncio.Protocol)."""
        problem = self._problem or exc or ConnectionResetError(CLOSED)
        if self._made:
            # What ends within a record, or was tampered with, is no part of what came.
            with contextlib.suppress(ssl.SSLError):
                if self._problem is None and (plain := self.pipe.receive(unread(self._transport))):
                    self._inner.data_received(plain)
            self._inner.connection_lost(problem)
        else:
            self._end_handshake(problem)

    def pause_writing(self) -> None:
        """Pass it on (asyncio.Protocol)."""
        if self._made:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on (asyncio.Protocol)."""
        if self._made:
            self._inner.resume_writing()

    def _end_handshake(self, problem: Exception | None) -> None:
        if self._shaking:
            self._shaking = False
            self._done(problem)


class TlsTransport(asyncio.Transport):
    """What a secured connection writes to."""

    def __init__(self, transport: asyncio.Transport, protocol: TlsProtocol) -> None:
        super().__init__()
        self._transport = transport
        self._protocol = protocol
        self.set_protocol = protocol.hand_on  # type: ignore[assignment]
        self.is_closing = transport.is_closing  # type: ignore[method-assign]
        self.pause_reading = transport.pause_reading  # type: ignore[method-assign]
        self.resume_reading = transport.resume_reading  # type: ignore[method-assign]
        self.get_write_buffer_size = transport.get_write_buffer_size  # type: ignore[method-assign]
        self.abort = transport.abort  # type: ignore[method-assign]

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypt and send."""
        try:
            self._transport.write(self._protocol.pipe.send(data))
        except ssl.SSLError as problem:
            self._protocol.fail(problem)

    def close(self) -> None:
        """Say that nothing more will come, then close."""
        if not self._transport.is_closing():
            self._transport.write(self._protocol.pipe.farewell())
            self._transport.close()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Limits of the bytes that wait encrypted."""
        self._transport.set_write_buffer_limits(high, low)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What is known of the connection below, and of the session: `peer_name` (`TlsPipe.peer_name`)."""
        if name == "peer_name":
            return self._protocol.pipe.peer_name
        if name == "socket":
            return default  # what can be read from it is encrypted
        return self._transport.get_extra_info(name, default)
