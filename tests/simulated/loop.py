"""An event loop whose network is in memory, and which measures what each of its callbacks takes.

Servers and clients of one process talk as over loopback, but without a socket: nothing waits for the machine,
so that what happens follows from the calls alone, and a seed replays.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from simulated.network import Listener, Wire
from simulated.pools import spent_in_pools

TURNS_MAX = 200_000
"""Turns of the loop after which it does not come to rest any more."""


class Stall(NamedTuple):
    """One callback that kept the loop busy: processor time of its thread, and what it was."""

    seconds: float
    what: str


class SimulatedLoop(asyncio.SelectorEventLoop):
    """`stalls`: callbacks that took longer than `stall_seconds` of processor time, work in pools left out.

    `problems`: what reached the exception handler.
    """

    def __init__(self, stall_seconds: float = float("inf")) -> None:
        super().__init__()
        self.stall_seconds = stall_seconds
        self.stalls: list[Stall] = []
        self.problems: list[str] = []
        self.steps = 0
        self.listeners: dict[int, Callable[[], asyncio.BaseProtocol]] = {}
        self._ports = itertools.count(20_000)
        self._unmeasured: set[asyncio.Task[Any]] = set()
        self.set_exception_handler(self._problem)

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.Handle:
        return super().call_soon(self._step, callback, args, context=context)

    def _step(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.steps += 1
        with self.measured(callback):
            callback(*args)

    @contextmanager
    def measured(self, callback: Callable[..., object]) -> Iterator[None]:
        """Note a stall when what is done inside takes too long; `callback` is what it is called by."""
        before = time.thread_time() - spent_in_pools()
        try:
            yield
        finally:
            seconds = time.thread_time() - spent_in_pools() - before
            owner = getattr(callback, "__self__", None)
            if seconds > self.stall_seconds and owner not in self._unmeasured:
                self.stalls.append(
                    Stall(seconds, repr(owner if isinstance(owner, asyncio.Task) else callback))
                )

    def leave_out(self, task: asyncio.Task[Any] | None) -> None:
        """Do not measure `task`: it is the test's own."""
        if task is not None:
            self._unmeasured.add(task)

    async def settle(self) -> None:
        """Return when nothing is left that would happen by itself without time passing."""
        quiet = 0
        for _ in range(TURNS_MAX):
            before = self.steps
            await asyncio.sleep(0)
            quiet = quiet + 1 if self.steps - before <= 1 else 0
            if quiet == 2:
                return
        raise AssertionError("the loop does not come to rest")

    def _problem(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.problems.append(f"{context.get('message')}: {context.get('exception')!r}")

    # The network

    async def create_server(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **more: Any
    ) -> Any:  # type: ignore[override]
        port = port or next(self._ports)
        if port in self.listeners:
            raise OSError(98, f"port {port} is in use")
        self.listeners[port] = protocol_factory
        return Listener(self.listeners, port)

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **more: Any
    ) -> Any:  # type: ignore[override]
        await asyncio.sleep(0)
        return self.connect(protocol_factory, port)

    def connect(self, protocol_factory: Callable[[], asyncio.BaseProtocol], port: int) -> Any:
        """A connection to the server on `port`: its transport and its protocol, as asyncio has them."""
        arrive = self.listeners.get(port)
        if arrive is None:
            raise ConnectionRefusedError(111, f"nobody listens on port {port}")
        wire = Wire(self, next(self._ports), port)
        wire.near.protocol, wire.far.protocol = protocol_factory(), arrive()
        wire.far.protocol.connection_made(wire.far)
        wire.near.protocol.connection_made(wire.near)
        return wire.near, wire.near.protocol
