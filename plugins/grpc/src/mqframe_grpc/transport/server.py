"""The port at which gRPC is spoken: all connections of one server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from mqframe.core.measuring.budget import Shares
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock
from mqframe.net.listening import close, listen, port_of
from mqframe.net.tls.following import FollowingContext
from mqframe.net.tls.gate import TlsGate
from mqframe.trouble import Trouble
from mqframe_grpc.transport.call import Method
from mqframe_grpc.transport.connection import GrpcConnection
from mqframe_grpc.transport.fields import FieldReader, MakeReader
from mqframe_grpc.transport.frames import HttpBroken
from mqframe_grpc.transport.limits import GrpcLimits

log = get_logger("grpc")

_LOOKS: Final = 8
_LAST_TURNS: Final = 3
"""Turns of the loop for calls that are cancelled to end: more than one where they give back what they had."""


class GrpcServer:
    """Serves `methods`, by their path, to plain clients and to those of TLS, at one port.

    `context`: what secures connections, `None`: plain ones alone are taken; `plain`: whether those are taken
    at all. `in_work_bytes`: of requests that are being served; `reader`: makes what reads header fields.
    """

    def __init__(
        self,
        methods: Mapping[str, Method],
        clock: LoopClock,
        limits: GrpcLimits,
        context: FollowingContext | None = None,
        *,
        plain: bool = True,
    ) -> None:
        self.methods = methods
        self.clock = clock
        self.limits = limits
        self.in_work_bytes = 0
        self.reader: MakeReader = FieldReader
        self.connections: set[GrpcConnection] = set()
        self._arrive: Callable[[], asyncio.Protocol] = lambda: GrpcConnection(self)
        self._gate: TlsGate | None = None
        self._partial: Shares[GrpcConnection] = Shares(limits.partial_bytes_max)
        self._unsent: Shares[GrpcConnection] = Shares(
            limits.unsent_bytes_max, lambda connection: connection.unsent_bytes
        )
        self._troubles = [Trouble(log, clock.monotonic) for _ in range(3)]
        self._refused, self._shed_ones, self._broken = self._troubles
        self._listener: asyncio.Server | None = None
        self._looking: Every | None = None
        if context is not None:
            patience = limits.idle_seconds
            self._gate = TlsGate(context, clock, self._arrive, plain=plain, patience=patience)
            self._gate.full = self._is_full
            self._arrive = self._gate.arrive

    def _is_full(self) -> bool:
        arriving = 0 if self._gate is None else len(self._gate.waiting)
        if len(self.connections) + arriving < self.limits.connections_max:
            return False
        self._refused.note("connections refused", most=self.limits.connections_max, setting="connections_max")
        return True

    @property
    def partial_bytes(self) -> int:
        """Bytes of requests that have not wholly arrived, or that nobody has taken."""
        return self._partial.used

    @property
    def unsent_bytes(self) -> int:
        """Bytes of answers that were not read, as connections told last."""
        return self._unsent.used

    # For connections

    def entered(self, connection: GrpcConnection) -> bool:
        """A connection was opened; whether there is room for it."""
        if self._is_full():
            return False
        self.connections.add(connection)
        return True

    def left(self, connection: GrpcConnection) -> None:
        """It ended."""
        self.connections.discard(connection)
        self._partial.take(connection, 0)
        self._unsent.take(connection, 0)

    def partial(self, connection: GrpcConnection, size: int) -> None:
        """Of requests on it, `size` bytes came that are not served yet."""
        for each in self._partial.take(connection, size):
            self._shed(each, "requests that have not wholly arrived take too much")

    def unsent(self, connection: GrpcConnection, size: int) -> None:
        """`size` bytes of answers wait on it."""
        for each in self._unsent.take(connection, size):
            self._shed(each, "answers that nobody reads take too much")

    def broken(self, connection: GrpcConnection, problem: HttpBroken) -> None:
        """It is closed for what the client does."""
        event = "connections closed for what clients do"
        self._broken.note(event, kind=problem.code, reason=str(problem)[:200], peer=connection.address)

    def _shed(self, connection: GrpcConnection, reason: str) -> None:
        self._shed_ones.note("connections closed", kind=reason, reason=reason, peer=connection.address)
        connection.abort()

    # Life

    async def start(self, host: str, port: int) -> int:
        """Listen on `host` and `port` (0: any free one); returns the port. Raises `OSError`."""
        self._listener = await listen(self._arrive, host, port)
        interval = min(self.limits.idle_seconds, self.limits.stalled_seconds) / _LOOKS
        self._looking = Every(self.clock, interval, self._look, name="idle gRPC connections")
        return port_of(self._listener)

    async def refuse(self) -> None:
        """Listen no more; the connections that there are go on. A second call has no effect."""
        if self._listener is not None and self._listener.is_serving():
            await close([self._listener])
            if self._gate is not None:
                self._gate.close()

    async def stop(self) -> None:
        """Stop listening, and close all connections."""
        if self._looking is not None:
            self._looking.stop()
        if self._listener is None:
            return
        await self.refuse()
        for connection in tuple(self.connections):
            connection.close()
        for _ in range(_LAST_TURNS):
            await asyncio.sleep(0)
        for connection in tuple(self.connections):
            connection.abort()
        await asyncio.sleep(0)
        await self._listener.wait_closed()
        self._listener = None
        for trouble in self._troubles:
            trouble.tell(last=True)

    def abandon(self) -> None:
        """Let go of all connections, without a word."""
        if self._looking is not None:
            self._looking.stop()
        if self._listener is not None:
            self._listener.close()
        if self._gate is not None:
            self._gate.close()
        for connection in tuple(self.connections):
            connection.abort()

    def _look(self) -> None:
        now = self.clock.monotonic()
        for connection in tuple(self.connections):
            connection.look(now)
        for trouble in self._troubles:
            trouble.tell()
        if self._gate is not None:
            self._gate.tell()
