"""The replication port until it is known who has come: a plain slave, one that says hello, or neither."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, cast

from mqframe.core.clock import Clock
from mqframe.core.errors import FrameError
from mqframe.core.printable import printable
from mqframe.net.addresses import address_text
from mqframe.net.tls.contexts import HANDSHAKE_BYTE
from mqframe_replication.rules.hello import (
    REFUSAL_CHARS_MAX,
    Hello,
    HelloReader,
    Welcome,
    encode_welcome,
    is_hello,
)
from mqframe_replication.stream.refusals import ConnectionRefusals
from mqframe_replication.stream.slave_admission import SlaveAdmission, UnknownPeer

HANDSHAKES_MAX: Final = 64
"""Most connections at once that have not said who they are; more would be no slaves."""
QUIET_SECONDS: Final = 1.0
"""So long a connection may say nothing while others come."""


class SlavePort(Protocol):
    """What lies behind: as `Feeding`."""

    def objection(self, hello: Hello | None) -> str:
        """Why somebody who is admitted cannot come in now; empty: nothing is against it."""

    def welcome(self, hello: Hello) -> Welcome:
        """What is said to somebody who comes in."""

    def enter(self, hello: Hello | None) -> asyncio.Protocol:
        """What goes on with the connection; `None`: of a plain slave."""


class PendingConnections:
    """The connections that have not said who they are. They have `seconds` for it in all."""

    def __init__(self, admission: SlaveAdmission, port: SlavePort, clock: Clock, seconds: float) -> None:
        self.admission = admission
        self.port = port
        self.clock = clock
        self._seconds = seconds
        self.waiting: dict[Handshake, float] = {}
        self.refusals = ConnectionRefusals(clock)

    def arrive(self) -> Handshake:
        """The protocol of a new connection."""
        return Handshake(self)

    def wait(self, handshake: Handshake) -> bool:
        """Begin the time of `handshake`; false where there is no room for it.

        Whoever has waited longest makes room, but not before a slave would have said something: peers who
        say nothing keep no slave out.
        """
        now = self.clock.monotonic()
        if len(self.waiting) >= HANDSHAKES_MAX:
            first = next(iter(self.waiting))
            if now - (self.waiting[first] - self._seconds) < QUIET_SECONDS:
                return False
            first.refuse("it does not say who it is, and others wait")
        self.waiting[handshake] = now + self._seconds
        return True

    def look(self) -> None:
        """Close the connections whose time is over."""
        now = self.clock.monotonic()
        for each in [handshake for handshake, end in self.waiting.items() if end < now]:
            each.refuse("it does not say who it is in time")
        self.refusals.tell()

    def close(self) -> None:
        """Close them all."""
        for each in tuple(self.waiting):
            each.close()
        self.refusals.tell(last=True)


class Handshake(asyncio.Protocol):
    """One connection until it is known who has come."""

    def __init__(self, pending: PendingConnections) -> None:
        self._pending = pending
        self._transport: asyncio.Transport | None = None
        self._first = b""
        self._reader: HelloReader | None = None
        self._challenge = ""
        self._peer = UnknownPeer("", "")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first bytes."""
        self._transport = cast("asyncio.Transport", transport)
        address = address_text(transport.get_extra_info("peername"))
        self._peer = UnknownPeer(address, transport.get_extra_info("peer_name") or "")
        if not self._pending.wait(self):
            self.refuse("too many connections have not said who they are")

    def data_received(self, data: bytes) -> None:
        """Find out who it is."""
        if self not in self._pending.waiting:
            return
        if self._reader is None:
            self._first = data = self._first + data
            known = is_hello(data)
            if known is None:
                return
            if not known:
                self._plain(data)
                return
            self._reader = HelloReader()
        try:
            hello = self._reader.read(data)
            if hello is not None and self._reader.rest:
                raise FrameError("it says more than its hello before it is welcome")
        except FrameError as problem:
            self._refuse_slave(str(problem), tell=True)
            return
        if hello is not None:
            self._answer(hello)

    def _plain(self, data: bytes) -> None:
        if data[0] == HANDSHAKE_BYTE:
            self._refuse_slave(
                "it speaks TLS, which this replication port does not: set net.tls_server_cert_file here, or"
                " replication.tls = off there"
            )
        elif refusal := self._pending.admission.plain_refusal or self._pending.port.objection(None):
            self._refuse_slave(refusal)
        else:
            self._go_on(None, data)

    def _answer(self, hello: Hello) -> None:
        admission = self._pending.admission
        if not self._challenge:
            self._challenge = admission.challenge()
            if self._challenge:
                self._reader = HelloReader()
                self._say(Welcome(challenge=self._challenge))
                return
        refusal = admission.refusal(hello, self._challenge, self._peer)
        if refusal := refusal or self._pending.port.objection(hello):
            self._refuse_slave(refusal, tell=True)
        else:
            self._say(self._pending.port.welcome(hello))
            self._go_on(hello, b"")

    def _say(self, welcome: Welcome) -> None:
        if self._transport is not None:
            self._transport.write(encode_welcome(welcome))

    def _go_on(self, hello: Hello | None, data: bytes) -> None:
        del self._pending.waiting[self]
        transport, self._transport = self._transport, None
        if transport is None or transport.is_closing():
            return
        after = self._pending.port.enter(hello)
        transport.set_protocol(after)
        after.connection_made(transport)
        if data:
            after.data_received(data)

    def refuse(self, why: str) -> None:
        """Close the connection of somebody who has not said who it is."""
        self._pending.refusals.note_unknown(self._peer.address, why)
        self.close()

    def _refuse_slave(self, why: str, *, tell: bool = False) -> None:
        """Close the connection. `tell`: whether the other side knows what a welcome is."""
        why = printable(why)[:REFUSAL_CHARS_MAX]
        self._pending.refusals.note(self._peer.address, why)
        if tell and self._transport is not None:
            self._say(Welcome(refusal=why))
            self._transport.close()
        self.close()

    def close(self) -> None:
        """Close the connection, if that has not begun."""
        self._pending.waiting.pop(self, None)
        if self._transport is not None and not self._transport.is_closing():
            self._transport.abort()
        self._transport = None

    def connection_lost(self, problem: Exception | None) -> None:
        """It went away before it was known who it was."""
        self._pending.waiting.pop(self, None)
        self._transport = None
