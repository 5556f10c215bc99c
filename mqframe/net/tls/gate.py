"""New connections of a server with a certificate: TLS or plain, distinguished by their first byte."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

from mqframe.log import get_logger
from mqframe.net.addresses import address_text
from mqframe.net.clock import LoopClock, Timer
from mqframe.net.tls.contexts import HANDSHAKE_BYTE, broken
from mqframe.net.tls.following import FollowingContext
from mqframe.net.tls.pipe import TlsPipe
from mqframe.net.tls.protocol import TlsProtocol

log = get_logger("net")


class TlsGate:
    """Makes the protocols of new connections.

    `plain`: whether such connections are taken, too; `make`: what serves a connection; `patience`: seconds
    after which one that has not even begun, or not ended its handshake, is closed; `full`: whether no further
    connection may come.
    """

    def __init__(
        self,
        contexts: FollowingContext,
        clock: LoopClock,
        make: Callable[[], asyncio.Protocol],
        *,
        plain: bool,
        patience: float,
    ) -> None:
        self.full: Callable[[], bool] = lambda: False
        self.plain_refused = "plain connection refused: this server takes TLS only"
        self.contexts = contexts
        self.clock = clock
        self.make = make
        self.plain = plain
        self.patience = patience
        self.waiting: set[Arrival] = set()

    def arrive(self) -> Arrival:
        """The protocol of one new connection."""
        return Arrival(self)

    def close(self) -> None:
        """Close what has not come through."""
        for arrival in tuple(self.waiting):
            arrival.abort()


class Arrival(asyncio.Protocol):
    """A connection until it is known what it speaks and, if that is TLS, until it is secured."""

    def __init__(self, gate: TlsGate) -> None:
        self._gate = gate
        self._transport: asyncio.Transport | None = None
        self._timer: Timer | None = None
        self._address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first byte (asyncio.Protocol)."""
        self._transport = cast("asyncio.Transport", transport)
        self._address = address_text(transport.get_extra_info("peername"))
        self._timer = self._gate.clock.call_later(self._gate.patience, self._too_late)
        if self._gate.full():
            self.abort()
            return
        self._gate.waiting.add(self)

    def data_received(self, data: bytes) -> None:
        """Choose what goes on with the connection (asyncio.Protocol)."""
        gate, transport = self._gate, self._transport
        if transport is None or transport.is_closing():
            return
        context = gate.contexts.current if data[0] == HANDSHAKE_BYTE else None
        if context is not None:
            after: asyncio.Protocol = TlsProtocol(
                TlsPipe(context, server_side=True), gate.make(), self._shaken, linger=True
            )
        elif gate.plain:
            self._through()
            after = gate.make()
        else:
            log.warning(gate.plain_refused, peer=self._address)
            transport.close()
            return
        transport.set_protocol(after)
        after.connection_made(transport)
        after.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """It went away before it said anything (asyncio.Protocol)."""
        self._through()

    def abort(self) -> None:
        """Close at once."""
        self._through()
        if self._transport is not None:
            self._transport.abort()

    def _too_late(self) -> None:
        log.warning("connection never began", peer=self._address, seconds=self._gate.patience)
        self.abort()

    def _shaken(self, problem: Exception | None) -> None:
        expected = self._through()
        if problem is not None and expected:
            said = broken(problem) if isinstance(problem, ssl.SSLError) else str(problem)
            log.warning("TLS handshake failed", peer=self._address, problem=said)

    def _through(self) -> bool:
        """Stop the clock; whether it was running."""
        if self._timer is not None:
            self._timer.cancel()
        expected = self in self._gate.waiting
        self._gate.waiting.discard(self)
        return expected
