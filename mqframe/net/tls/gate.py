"""New connections of a server with a certificate: TLS or plain, distinguished by their first byte."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

from mqframe.core.clock import Timer
from mqframe.log import get_logger
from mqframe.net.addresses import address_text
from mqframe.net.clock import LoopClock
from mqframe.net.tls.contexts import HANDSHAKE_BYTE, broken
from mqframe.net.tls.following import FollowingContext
from mqframe.net.tls.pipe import TlsPipe
from mqframe.net.tls.protocol import TlsProtocol
from mqframe.trouble import Trouble

log = get_logger("net")


class TlsGate:
    """Makes the protocols of new connections.

    `plain`: whether such connections are taken, too; `make`: what serves a connection; `patience`: seconds
    after which one that has not even begun, or not ended its handshake, is closed; `full`: whether no further
    connection may come, which tells of it itself; `waiting_max`: as many may be on their way in; `troubles`:
    what is told of those that are refused.
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
        self.waiting_max: int | None = None
        self.troubles = [Trouble(log, clock.monotonic) for _ in range(4)]
        self.full_trouble, self.plain_trouble, self.late_trouble, self.broken_trouble = self.troubles

    def arrive(self) -> Arrival:
        """The protocol of one new connection."""
        return Arrival(self)

    def is_full(self) -> bool:
        """Whether there is no room for another connection; that is noted."""
        if self.waiting_max is None or len(self.waiting) < self.waiting_max:
            return self.full()
        self.full_trouble.note("connections refused: too many have not ended their handshake")
        return True

    def close(self) -> None:
        """Close what has not come through."""
        for arrival in tuple(self.waiting):
            arrival.abort()
        self.tell(last=True)

    def tell(self, *, last: bool = False) -> None:
        """Say what was not told yet of connections that were refused (as `Trouble`)."""
        for trouble in self.troubles:
            trouble.tell(last=last)


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
        if self._gate.is_full():
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
            gate.plain_trouble.note(gate.plain_refused, peer=self._address)
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
        seconds = self._gate.patience
        self._gate.late_trouble.note("connection never began", peer=self._address, seconds=seconds)
        self.abort()

    def _shaken(self, problem: Exception | None) -> None:
        expected = self._through()
        if problem is not None and expected:
            said = broken(problem) if isinstance(problem, ssl.SSLError) else str(problem)
            self._gate.broken_trouble.note(
                "TLS handshake failed", kind=said, peer=self._address, problem=said
            )

    def _through(self) -> bool:
        """Stop the clock; whether it was running."""
        if self._timer is not None:
            self._timer.cancel()
        expected = self in self._gate.waiting
        self._gate.waiting.discard(self)
        return expected
