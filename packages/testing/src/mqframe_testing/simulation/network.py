"""A network that fails as told: ways that are blocked, slow or lossy, connections that are cut."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, Final

from mqframe_testing.simulation.clock import SimulatedClock
from mqframe_testing.simulation.connection import Listener, Side
from mqframe_testing.simulation.host import CURRENT, Host, HostingLoop, current_name
from mqframe_testing.simulation.way import Way

PIECE_SHARE: Final = 0.3
"""Of writes, that do not arrive in one piece."""
_FIRST_PORT: Final = 20_000


class Network:
    """What all connections of a `SimulatedLoop` go over. Hosts are told by their names.

    `chance`: how long delays take, how many bytes of a cut arrive, how writes are split; without it each
    delay takes all of its seconds, nothing under way survives a cut, and nothing is split. `connections`: the
    two sides of each that is open.
    """

    def __init__(self, loop: HostingLoop, chance: Random | None) -> None:
        self.loop = loop
        self.chance = chance
        self.listeners: dict[int, Listener] = {}
        self.connections: list[tuple[Side, Side]] = []
        self._outside: Host | None = None
        self._owners: dict[int, str] = {}
        self._ports = itertools.count(_FIRST_PORT)
        self._ways: dict[tuple[str, str], Way] = {}
        self._down: set[str] = set()
        self._waiting: list[tuple[str, str, asyncio.Future[None]]] = []

    @property
    def clock(self) -> SimulatedClock:
        """The right time."""
        return self.loop.clock

    # What is done to it

    def way(self, source: str, target: str) -> Way:
        """The way from `source` to `target`, for a look, or for changes that are not noted."""
        way = self._ways.get((source, target))
        if way is None:
            way = self._ways[source, target] = Way()
        return way

    def block(self, one: str, other: str, *, one_way: bool = False) -> None:
        """Let nothing through from `one` to `other`, nor back, unless `one_way`. Nobody is told.

        What is written waits, and arrives once the way is healed. Opening a connection needs both ways.
        """
        self.note(f"{self._told(one, other, one_way)} is blocked")
        for way in self._both(one, other, one_way):
            way.blocked = True

    def delay(self, one: str, other: str, seconds: float, *, one_way: bool = False) -> None:
        """Let each piece take up to `seconds`."""
        self.note(f"{self._told(one, other, one_way)} takes up to {seconds:g} s")
        for way in self._both(one, other, one_way):
            way.delay = seconds

    def lose(self, one: str, other: str, share: float, *, one_way: bool = False) -> None:
        """Lose this `share` of what is sent.

        TCP sends lost pieces again, so everything behind them is late; calls to a coordination are lost for
        good, or their answers.
        """
        self.note(f"{self._told(one, other, one_way)} loses {share:.0%}")
        for way in self._both(one, other, one_way):
            way.loss = share

    def double(self, one: str, other: str, share: float, *, one_way: bool = False) -> None:
        """Let this `share` of calls to a coordination arrive twice; TCP notices what comes twice."""
        self.note(f"{self._told(one, other, one_way)} doubles {share:.0%}")
        for way in self._both(one, other, one_way):
            way.doubles = share

    def heal(self, one: str | None = None, other: str | None = None) -> None:
        """Let everything through again, between all hosts or these two; what was held back comes as well."""
        self.note("all ways are healed" if one is None else f"{one} <> {other} is healed")
        for pair in [pair for pair in self._ways if one is None or set(pair) == {one, other}]:
            del self._ways[pair]
        self._changed()

    def cut(self, one: str, other: str) -> None:
        """End the connections of two hosts. How many bytes of what is under way arrive is chance."""
        self.note(f"{one} <> {other} is cut")
        for pair in self.between(one, other):
            for side in pair:
                side.lose_tail()
            for side in pair:
                side.break_off()

    def cut_after(self, source: str, target: str, size: int) -> None:
        """Let `size` more bytes through, then cut the connection that carries the next one."""
        self.note(f"{source} > {target} is cut after {size} bytes")
        self.way(source, target).cut_after = size

    def lose_power(self, host: str) -> None:
        """Take the connections of `host` away from it, without a word to anybody.

        The others learn of it when they write, or never; nobody reaches it until it listens or connects
        again. What runs there has to be ended by whoever started it, as by `Broker.abandon`.
        """
        self.note(f"{host} loses power")
        self._down.add(host)
        for pair in tuple(self.connections):
            if host in (pair[0].host.name, pair[1].host.name):
                dead, other = pair if pair[0].host.name == host else pair[::-1]
                dead.is_dead = True
                dead.break_off()
                other.clear()

    def between(self, one: str, other: str) -> list[tuple[Side, Side]]:
        """Open connections of two hosts."""
        return [pair for pair in self.connections if {side.host.name for side in pair} == {one, other}]

    # Connections

    def listen(self, arrive: Any, port: int | None) -> Listener:
        """A listener of the host whose code runs, on `port` or a free one. `OSError`: it is in use."""
        port = port or next(self._ports)
        if port in self.listeners:
            raise OSError(98, f"port {port} is in use")
        host = self._current()
        self.listeners[port] = Listener(self, arrive, host, port)
        self._owners[port] = host.name
        self._is_up(host.name)
        return self.listeners[port]

    async def reach(self, port: int) -> None:
        """Return when the host whose code runs gets through to whoever has listened on `port`, and back."""
        near, far = current_name(), self._owners.get(port, "nowhere")
        self._is_up(near)
        await self.passable(near, far)
        there, back = self.way(near, far), self.way(far, near)
        seconds = there.delay_of(self.chance) + back.delay_of(self.chance)
        await (self.clock.sleep(seconds) if seconds else asyncio.sleep(0))

    def connect(self, protocol_factory: Any, port: int) -> tuple[Side, Any]:
        """Connect to `port` at once: transport and protocol. `ConnectionRefusedError`: nobody listens."""
        listener = self.listeners.get(port)
        if listener is None:
            raise ConnectionRefusedError(111, f"nobody listens on port {port}")
        own = next(self._ports)
        near, far = Side(self, self._current(), (own, port)), Side(self, listener.host, (port, own))
        near.other, far.other = far, near
        self.connections.append((near, far))
        protocol = near.protocol = protocol_factory()

        def accept() -> None:
            if not far.is_lost:
                far.protocol = listener.arrive()
                far.protocol.connection_made(far)

        listener.host.call(accept)
        protocol.connection_made(near)
        return near, protocol

    async def passable(self, one: str, other: str) -> None:
        """Return when neither way between two hosts is blocked, and both have power."""
        while not self._passes(one, other):
            entry = one, other, asyncio.get_running_loop().create_future()
            self._waiting.append(entry)
            try:
                await entry[2]
            finally:
                self._waiting.remove(entry)

    def forget(self, side: Side) -> None:
        """One side of a connection is over; the connection is when both are."""
        if side.other.is_lost or side.is_dead:
            self.connections = [pair for pair in self.connections if side not in pair]

    # Chance

    def pieces(self, raw: bytes, size_max: int) -> Iterator[bytes]:
        """`raw` as it arrives, in pieces of at most `size_max` bytes."""
        while raw:
            size = min(len(raw), size_max)
            if self.chance is not None and self.chance.random() < PIECE_SHARE:
                size = self.chance.randint(1, size)
            yield raw[:size]
            raw = raw[size:]

    def up_to(self, size: int) -> int:
        """A number of bytes from 0 to `size`."""
        return 0 if self.chance is None else self.chance.randint(0, size)

    def note(self, what: str) -> None:
        """Put `what` among the steps of the run."""
        self.loop.note(what)

    def _current(self) -> Host:
        host = CURRENT.get()
        if host is None:
            self._outside = self._outside or Host(self.loop, current_name())
            return self._outside
        return host

    def _passes(self, one: str, other: str) -> bool:
        return not (self.way(one, other).blocked or self.way(other, one).blocked or self._down & {one, other})

    def _is_up(self, host: str) -> None:
        if host in self._down:
            self._down.discard(host)
            self._changed()

    def _changed(self) -> None:
        for pair in tuple(self.connections):
            for side in pair:
                side.ring()
        for one, other, over in self._waiting:
            if not over.done() and self._passes(one, other):
                over.set_result(None)

    def _both(self, one: str, other: str, one_way: bool) -> Iterable[Way]:
        return (self.way(one, other),) if one_way else (self.way(one, other), self.way(other, one))

    def _told(self, one: str, other: str, one_way: bool) -> str:
        return f"{one} {'>' if one_way else '<>'} {other}"
