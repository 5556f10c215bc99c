"""The broker service `grpc`: clients of RocketMQ's gRPC protocol, beside those of the remoting one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from mqframe.hooks.interfaces import BrokerPort, BrokerService, Periodic
from mqframe.hooks.specs import Factories, hookimpl
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe.net.settings import NetSettings
from mqframe.net.tls.following import FollowingContext
from mqframe_grpc.certificates import http2_context, self_signed
from mqframe_grpc.door import Door
from mqframe_grpc.inside import InsideBackend
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.transport.server import GrpcServer

log = get_logger("grpc")

_RENEW_SECONDS: Final = 1.0


class GrpcService(BrokerService):
    """The door of one broker."""

    Options = GrpcOptions

    def __init__(self, port: BrokerPort, options: GrpcOptions) -> None:
        self._port = port
        self._options = options
        self._clock = cast("LoopClock", port.clock)
        self._door = Door(InsideBackend(port), self._clock, options)
        self._server: GrpcServer | None = None
        self._bound = 0

    async def start(self) -> None:
        """Listen. Raises `OSError`, `SettingError`."""
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
        host = options.host or self._broker_host()
        self._bound = await self._server.start(host, options.port)
        log.info("serving gRPC", host=host, port=self._bound, tls=options.tls)

    def _broker_host(self) -> str:
        sections = self._port.administration.settings.sections
        return next(str(each.host) for each in sections if each.SECTION == "broker")

    def _secured(self) -> NetSettings:
        options = self._options
        cert, key = options.tls_cert_file, options.tls_key_file
        if not cert:
            cert, key = self_signed(self._port.directory / "grpc")
        return NetSettings(
            tls_server_mode=options.tls,
            tls_server_cert_file=cert,
            tls_server_key_file=key,
            tls_server_key_password=options.tls_key_password,
        )

    def periodic(self) -> Sequence[Periodic]:
        """Messages in work stay hidden."""
        return (Periodic(_RENEW_SECONDS, self._door.renew, "renewal of messages in work"),)

    def counters(self) -> Mapping[str, str]:
        """Where it listens, and how much it has to do."""
        server = self._server
        return {
            "grpc.port": str(self._bound),
            "grpc.connections": str(0 if server is None else len(server.connections)),
            "grpc.clients": str(len(self._door.clients)),
            "grpc.inWork": str(len(self._door.renewing.renewals)),
        }

    def offers(self) -> Mapping[str, Callable[..., object]]:
        """Where it listens, for who asked for any free port."""
        return {"grpc.port": lambda: self._bound}

    async def stop(self) -> None:
        """Close the port, and all connections."""
        if self._server is not None:
            await self._server.stop()
        self._door.stop()

    def abandon(self) -> None:
        """Let go of what is open, without a word."""
        if self._server is not None:
            self._server.abandon()
        self._door.stop()


@hookimpl
def register_broker_services() -> Factories:
    """`grpc`."""
    return {"grpc": GrpcService}
