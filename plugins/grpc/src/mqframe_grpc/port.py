"""The port of a door: where it listens, for plain clients and those of TLS, and how it closes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe.net.settings import NetSettings
from mqframe.net.tls.following import FollowingContext
from mqframe_grpc.certificates import http2_context, self_signed
from mqframe_grpc.door import Door
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.transport.fields import FieldReader, MakeReader
from mqframe_grpc.transport.server import GrpcServer

log = get_logger("grpc")

FINISHED_SECONDS: Final = 5.0
"""So long calls may take that are being served when the port closes."""
_TURNS: Final = 10
"""Turns of the loop in which calls end that wait for nothing any more."""
_LOOK_SECONDS: Final = 0.05


class DoorPort:
    """Where `door` is reached. `folder`: for a certificate, where the options name none; made when needed.

    `bound`: the port, once started; `reader`: makes what reads header fields.
    """

    def __init__(self, door: Door, clock: LoopClock, options: GrpcOptions, folder: Path) -> None:
        self._door = door
        self._clock = clock
        self._options = options
        self._folder = folder
        self._server: GrpcServer | None = None
        self.reader: MakeReader = FieldReader
        self.bound = 0

    async def start(self, host: str) -> None:
        """Listen on `host`, or on that of the options. Raises `OSError`, `SettingError`."""
        options = self._options
        context = None
        if options.tls != "disabled":
            context = FollowingContext(http2_context, self._secured(), self._clock)
        self._server = GrpcServer(
            self._door.methods(),
            self._clock,
            options.connections,
            context,
            plain=options.tls == "permissive",
        )
        self._server.reader = self.reader
        host = options.host or host
        self.bound = await self._server.start(host, options.port)
        log.info("serving gRPC", host=host, port=self.bound, tls=options.tls)

    def _secured(self) -> NetSettings:
        options = self._options
        cert, key = options.tls_cert_file, options.tls_key_file
        if not cert:
            cert, key = self_signed(self._folder)
        return NetSettings(
            tls_server_mode=options.tls,
            tls_server_cert_file=cert,
            tls_server_key_file=key,
            tls_server_key_password=options.tls_key_password,
            tls_server_client_auth=options.tls_client_auth,
            tls_server_ca_file=options.tls_client_ca_file,
        )

    def counters(self) -> Mapping[str, str]:
        """Where it listens, and how much there is to do."""
        counts = {
            "grpc.port": self.bound,
            "grpc.clients": len(self._door.clients),
            "grpc.inWork": len(self._door.renewing.renewals),
        }
        if (server := self._server) is not None:
            counts["grpc.connections"] = len(server.connections)
            counts["grpc.partialBytes"] = server.partial_bytes
            counts["grpc.requestBytes"] = server.in_work_bytes
            counts["grpc.unsentBytes"] = server.unsent_bytes
        return {name: str(count) for name, count in counts.items()}

    async def stop(self) -> None:
        """Send clients elsewhere, answer what is being served, close all connections."""
        server = self._server
        if server is not None:
            await server.refuse()
            self._door.leave()
            await self._finish()
            self._door.stop()
            await _turns()
            await server.stop()
        self._door.stop()

    async def _finish(self) -> None:
        """Wait for calls that are being served, those of clients that wait for messages left out."""
        until = self._clock.monotonic() + FINISHED_SECONDS
        await _turns()
        while self._door.in_work and self._clock.monotonic() < until:
            await self._clock.sleep(_LOOK_SECONDS)

    def abandon(self) -> None:
        """Let go of what is open, without a word."""
        if self._server is not None:
            self._server.abandon()
        self._door.stop()


async def _turns() -> None:
    for _ in range(_TURNS):
        await asyncio.sleep(0)
