"""A network that fails as told: hosts, ways between them that are blocked or slow, connections that are cut.

A connection is a TCP stream: bytes come in order, each once, or the connection ends. What is lost on the way
is sent again, which is a delay; a way that is blocked holds everything back until it is healed. A cut leaves
any number of the bytes that were under way.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from random import Random
from typing import Any

from simulated.clock import Alarm, SimulatedClock
from simulated.loop import SimulatedLoop
from simulated.network import Listener

HOST: ContextVar[str] = ContextVar("HOST", default="outside")
"""Whose code runs."""
_HIGH, _LOW = 64 << 10, 16 << 10


def inside(host: str, callback: Callable[..., object], *args: Any) -> None:
    """Call `callback` as `host`; what it starts goes on so."""
    token = HOST.set(host)
    try:
        callback(*args)
    finally:
        HOST.reset(token)


class HostClock:
    """The clock of all, whose calls are those of one host."""

    def __init__(self, clock: SimulatedClock, host: str) -> None:
        self._clock, self._host = clock, host
        self.now_ms, self.monotonic, self.sleep = clock.now_ms, clock.monotonic, clock.sleep

    def call_later(self, delay_seconds: float, callback: Callable[[], object]) -> Alarm:
        return self._clock.call_later(delay_seconds, lambda: inside(self._host, callback))


class Network:
    """`blocked`: ways, (from, to), on which nothing comes through; `delays`: of ways, seconds."""

    def __init__(self, clock: SimulatedClock, chance: Random) -> None:
        self.clock = clock
        self.chance = chance
        self.blocked: set[tuple[str, str]] = set()
        self.delays: dict[tuple[str, str], float] = {}
        self.connections: list[tuple[Side, Side]] = []

    def heal(self) -> None:
        """Everything comes through again, at once; what was held back, too."""
        self.blocked.clear()
        self.delays.clear()
        for pair in tuple(self.connections):
            for side in pair:
                side.ring()

    def between(self, one: str, other: str) -> list[tuple[Side, Side]]:
        """Open connections of two hosts."""
        return [pair for pair in self.connections if {pair[0].host, pair[1].host} == {one, other}]

    def cut(self, one: str, other: str) -> None:
        """End their connections, each with a part of what is under way."""
        for pair in self.between(one, other):
            for side in pair:
                side.lose_tail()
            for side in pair:
                side.break_off()

    def lose_power(self, host: str) -> None:
        """The connections of `host` are gone; the others learn of it when they say something, or never."""
        for pair in tuple(self.connections):
            if host in (pair[0].host, pair[1].host):
                dead, other = pair if pair[0].host == host else pair[::-1]
                dead.is_dead = True
                dead.clear()
                dead.end()
                other.clear()


class Side(asyncio.Transport):
    """One side of a connection. `inbox`: what is on its way here, with the time when it arrives."""

    def __init__(self, network: Network, host: str, ports: tuple[int, int]) -> None:
        super().__init__({"sockname": ("127.0.0.1", ports[0]), "peername": ("127.0.0.1", ports[1])})
        self.network, self.host = network, host
        self.protocol: Any = None
        self.other: Side
        self.inbox: deque[tuple[float, bytes | None]] = deque()
        self.is_dead = False
        self.waiting = 0
        self._reading, self._closing, self._lost, self._full = True, False, False, False
        self._alarm: Alarm | None = None

    @property
    def _way(self) -> tuple[str, str]:
        return self.other.host, self.host

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closing or self._lost or not data:
            return
        if self.other.is_dead:
            self.network.clock.call_later(1, self.break_off)  # it is answered by a reset
            return
        raw, chance = bytes(data), self.network.chance
        while raw:
            size = len(raw) if chance.random() < 0.7 else chance.randint(1, len(raw))
            self.other.put(raw[:size])
            raw = raw[size:]
        if self.other.waiting > _HIGH and not self._full:
            self._full = True
            self.protocol.pause_writing()

    def clear(self) -> None:
        """Nothing is on its way here any more."""
        self.inbox.clear()
        self.waiting = 0

    def put(self, data: bytes | None) -> None:
        """Let `data`, or the end, be on its way here."""
        now = self.network.clock.monotonic()
        due = now + self.network.delays.get(self._way, 0) * self.network.chance.random()
        self.waiting += len(data or b"")
        self.inbox.append((max(due, self.inbox[-1][0] if self.inbox else now), data))
        self.ring()

    def ring(self) -> None:
        """See that what is due is handed over."""
        if self.inbox and self._reading and not self._lost and self._alarm is None:
            now = self.network.clock.monotonic()
            if self._way not in self.network.blocked:
                self._alarm = self.network.clock.call_later(self.inbox[0][0] - now, self._due)

    def _due(self) -> None:
        self._alarm = None
        if not self.inbox or self._lost or not self._reading or self._way in self.network.blocked:
            return
        if self.inbox[0][0] > self.network.clock.monotonic():
            self.ring()
            return
        data = self.inbox.popleft()[1]
        if data is None:
            self.end()
            return
        self.waiting -= len(data)
        if not self._closing:
            self._deliver(data)
        writer = self.other
        if writer._full and self.waiting <= _LOW and not writer._lost:
            writer._full = False
            inside(writer.host, writer.protocol.resume_writing)
        self.ring()

    def lose_tail(self) -> None:
        """Of what is on its way here only the first so many bytes arrive, right now, but for blocked ways."""
        coming = b"".join(data or b"" for _, data in self.inbox)
        self.clear()
        if coming and self._way not in self.network.blocked and not (self._lost or self._closing):
            self._deliver(coming[: self.network.chance.randint(0, len(coming))])

    def _deliver(self, data: bytes) -> None:
        protocol = self.protocol
        if not isinstance(protocol, asyncio.BufferedProtocol):
            inside(self.host, protocol.data_received, data)
            return
        while data and not (self._lost or self._closing):
            buffer = protocol.get_buffer(len(data))
            part, data = data[: len(buffer)], data[len(buffer) :]
            buffer[: len(part)] = part
            inside(self.host, protocol.buffer_updated, len(part))

    def break_off(self) -> None:
        """The connection is gone for this side."""
        self.clear()
        self.end()

    def end(self) -> None:
        if self._lost:
            return
        self._lost = self._closing = True
        pair = next((each for each in self.network.connections if self in each), None)
        if pair is not None and self.other._lost:
            self.network.connections.remove(pair)
        if not self.is_dead:
            inside(self.host, self.protocol.connection_lost, None)
        if not self.other._lost and not self.is_dead:
            self.other.put(None)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self.network.clock.call_later(0, self.end)

    def abort(self) -> None:
        self.close()

    def get_write_buffer_size(self) -> int:
        return self.other.waiting

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        return

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self.ring()

    def is_reading(self) -> bool:
        return self._reading

    def is_closing(self) -> bool:
        return self._closing


class StoryLoop(SimulatedLoop):
    """A loop whose connections go over a `Network`. It measures nothing: that takes a third of the time."""

    network: Network

    def __init__(self) -> None:
        super().__init__()
        self.hosts: dict[int, str] = {}

    def _step(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.steps += 1
        callback(*args)

    def measured(self, callback: Callable[..., object]) -> AbstractContextManager[None]:
        return nullcontext()

    async def create_server(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **more: Any
    ) -> Any:  # type: ignore[override]
        listener: Listener = await super().create_server(protocol_factory, host, port, **more)
        self.hosts[listener.getsockname()[1]] = HOST.get()
        return listener

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **more: Any
    ) -> Any:  # type: ignore[override]
        network, near, far = self.network, HOST.get(), self.hosts.get(port, "nowhere")
        if (near, far) in network.blocked or (far, near) in network.blocked:
            await asyncio.get_running_loop().create_future()  # until whoever waits has had enough
        await asyncio.sleep(0)
        arrive = self.listeners.get(port)
        if arrive is None:
            raise ConnectionRefusedError(111, f"nobody listens on port {port}")
        own = next(self._ports)
        here, there = Side(network, near, (own, port)), Side(network, far, (port, own))
        here.other, there.other = there, here
        network.connections.append((here, there))
        here.protocol = protocol_factory()

        def accept() -> None:
            there.protocol = arrive()
            there.protocol.connection_made(there)

        inside(far, accept)
        here.protocol.connection_made(here)
        return here, here.protocol
