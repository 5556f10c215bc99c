"""Connections in memory: two transports, each of which hands on what the other one writes.

A connection is a TCP stream: bytes come in order, each once, or the connection ends. What is lost on the way
is sent again, which is a delay; a way that is blocked holds everything back until it is healed. A cut leaves
any number of the bytes that were under way.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextvars import Context
from enum import Enum
from random import Random
from typing import Any, Final, Protocol

from mqframe_testing.simulation.clock import SimulatedClock
from mqframe_testing.simulation.host import Host, HostingLoop
from mqframe_testing.simulation.way import Way

READ_BYTES_MAX: Final = 256 * 1024
"""What one read of a socket gives at most, as asyncio has it."""
_HIGH: Final = 64 * 1024
"""Bytes on their way above which a writer is asked to wait, as asyncio has it."""
_NOBODY: Final = Context()
"""The context of what the network does: no host's."""
_RESET_SECONDS: Final = 1.0
"""After so long, whoever writes to a host that has forgotten the connection is told so."""


class Mark(Enum):
    """What comes after bytes. `END`: the other side has closed; `CUT`: the connection ends for both."""

    END = "end"
    CUT = "cut"


class Carrier(Protocol):
    """What connections need of the network that they go over: of `Network`."""

    loop: HostingLoop
    chance: Random | None
    listeners: dict[int, Listener]

    @property
    def clock(self) -> SimulatedClock:
        """The right time."""

    def way(self, source: str, target: str) -> Way:
        """The way from one host to another, by their names."""

    def pieces(self, raw: bytes, size_max: int) -> Iterator[bytes]:
        """`raw` as it arrives, in pieces of at most `size_max` bytes."""

    def up_to(self, size: int) -> int:
        """A number of bytes from 0 to `size`."""

    def forget(self, side: Side) -> None:
        """One side of a connection is over."""

    def note(self, what: str) -> None:
        """Put `what` among the steps of the run."""


class Side(asyncio.Transport):
    """One side of a connection, at `host`. `other`: the other one; `is_dead`: its host has lost power."""

    other: Side

    def __init__(self, network: Carrier, host: Host, ports: tuple[int, int]) -> None:
        super().__init__({"sockname": ("127.0.0.1", ports[0]), "peername": ("127.0.0.1", ports[1])})
        self.network, self.host = network, host
        self.protocol: Any = None
        self.is_dead = False
        self.is_lost = False
        self.waiting = 0
        self._inbox: deque[tuple[float, bytes | Mark]] = deque()
        self._reading, self._closing, self._full = True, False, False
        self._due_soon = self._is_cut = False
        self._high, self._low = _HIGH, _HIGH // 4

    @property
    def port(self) -> int:
        """The port on this side."""
        port: int = self.get_extra_info("sockname")[1]
        return port

    @property
    def way(self) -> Way:
        """What is on its way here comes on it."""
        return self.network.way(self.other.host.name, self.host.name)

    # Written here

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Let `data` be on its way to the other side."""
        if self._closing or self._is_cut or self.other.is_lost or not data:
            if self.other.is_dead and not self._closing:
                self.network.clock.at(
                    self.network.clock.monotonic() + _RESET_SECONDS, self.break_off, _NOBODY
                )
            return
        raw, way = bytes(data), self.other.way
        kept = way.room(len(raw))
        for piece in self.network.pieces(raw[:kept], READ_BYTES_MAX):
            self.other.put(piece)
        if kept < len(raw):
            self.network.note(f"the connection to {self.other.host.name} is cut within what is written")
            self._is_cut = True
            self.other.put(Mark.CUT)
        elif self.other.waiting > self._high and not self._full:
            self._full = True
            self.protocol.pause_writing()

    def put(self, what: bytes | Mark) -> None:
        """Let `what` be on its way here."""
        now = self.network.clock.monotonic()
        delay = self.way.delay_of(self.network.chance)
        self.waiting += 0 if isinstance(what, Mark) else len(what)
        self._inbox.append((max(now + delay, self._inbox[-1][0] if self._inbox else now), what))
        self.ring()

    # Arriving here

    def ring(self) -> None:
        """See that what is due is handed over."""
        if not self._inbox or self._due_soon or not self._listens():
            return
        self._due_soon = True
        due, clock = self._inbox[0][0], self.network.clock
        if due > clock.monotonic():
            clock.at(due, self._due, _NOBODY)
        else:
            self.network.loop.call_soon(self._due, context=_NOBODY)

    def _listens(self) -> bool:
        """Whether anything can be handed over now; whatever prevents it rings when it is over."""
        if self.host.paused:
            self.host.arrive(self.ring)
            return False
        return self._reading and not self.is_lost and not self.way.blocked

    def _due(self) -> None:
        self._due_soon = False
        if not self._inbox or not self._listens():
            return
        if self._inbox[0][0] > self.network.clock.monotonic():
            self.ring()
            return
        what = self._inbox.popleft()[1]
        if what is Mark.CUT:
            self.break_off()
            self.other.break_off()
        elif what is Mark.END:
            self.end()
        else:
            self._hand_over(what)

    def _hand_over(self, data: bytes) -> None:
        self.waiting -= len(data)
        writer = self.other
        try:
            if not self._closing:
                self.host.call(self._receive, data)
        finally:
            if writer._full and self.waiting <= writer._low and not writer.is_lost:
                writer._full = False
                writer.host.call(writer.protocol.resume_writing)
            self.ring()

    def _receive(self, data: bytes) -> None:
        if self.protocol is not None:  # else it was cut before its host, which stood still, took it
            self.protocol.data_received(data)

    # Ends

    def clear(self) -> None:
        """Nothing is on its way here any more."""
        self._inbox.clear()
        self.waiting = 0

    def lose_tail(self) -> None:
        """Of what is on its way here only the first so many bytes arrive, right now, but for blocked ways."""
        coming = b"".join(data for _, data in self._inbox if not isinstance(data, Mark))
        self.clear()
        arrived = coming[: self.network.up_to(len(coming))]
        if arrived and not (self.way.blocked or self.is_lost or self._closing):
            self.host.call(self._receive, arrived)

    def break_off(self) -> None:
        """The connection is gone for this side, without a word to the other."""
        if self.is_lost:
            return
        self.clear()
        self.is_lost = self._closing = True
        self.network.forget(self)
        protocol, self.protocol = self.protocol, None  # the other side may be there for long
        if not self.is_dead and protocol is not None:
            self.host.call(protocol.connection_lost, None)

    def end(self) -> None:
        """The connection is over here. What was written before still arrives, then its end."""
        if self.is_lost:
            return
        self.break_off()
        if not self.other.is_lost and not self.is_dead:
            self.other.put(Mark.END)

    def close(self) -> None:
        """End the connection, when the loop comes round."""
        if not self._closing:
            self._closing = True
            self.network.loop.call_soon(self.end, context=_NOBODY)

    def abort(self) -> None:
        """The same as `close`."""
        self.close()

    # What protocols ask for

    def get_write_buffer_size(self) -> int:
        """Bytes on their way to the other side."""
        return self.other.waiting

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """At how many bytes on their way the protocol is asked to wait, and to go on."""
        self._high = _HIGH if high is None else high
        self._low = self._high // 4 if low is None else low

    def pause_reading(self) -> None:
        """Let what arrives wait."""
        self._reading = False

    def resume_reading(self) -> None:
        """Take what arrives again."""
        self._reading = True
        self.ring()

    def is_reading(self) -> bool:
        """Whether what arrives is taken."""
        return self._reading

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Have `protocol` hear what comes (asyncio.Transport)."""
        self.protocol = protocol

    def is_closing(self) -> bool:
        """Whether the connection is over here, or about to be."""
        return self._closing


class Listener:
    """What `create_server` returns, as far as servers use it. `host`: who listens."""

    def __init__(self, network: Carrier, arrive: Any, host: Host, port: int) -> None:
        self.arrive, self.host, self.port = arrive, host, port
        self.sockets = [self]
        self._network = network

    def getsockname(self) -> tuple[str, int]:
        """The address that it listens on."""
        return "127.0.0.1", self.port

    async def start_serving(self) -> None:
        """Return at once: it serves from the beginning."""
        return

    def is_serving(self) -> bool:
        """Whether it listens still."""
        return self._network.listeners.get(self.port) is self

    def close(self) -> None:
        """Listen no more."""
        if self._network.listeners.get(self.port) is self:
            del self._network.listeners[self.port]

    async def wait_closed(self) -> None:
        """Return at once."""
        return
