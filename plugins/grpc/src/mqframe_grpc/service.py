"""The broker service `grpc`: clients of RocketMQ's gRPC protocol, beside those of the remoting one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from mqframe.core.measuring.family import Metric
from mqframe.hooks.interfaces import BrokerPort, BrokerService, Periodic
from mqframe.hooks.specs import Factories, hookimpl
from mqframe.net.clock import LoopClock
from mqframe_grpc.door import Door
from mqframe_grpc.inside import InsideBackend
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.port import DoorPort
from mqframe_grpc.transport.fields import made_by

_RENEW_SECONDS: Final = 1.0


class GrpcService(BrokerService):
    """The door of one broker."""

    Options = GrpcOptions

    def __init__(self, port: BrokerPort, options: GrpcOptions) -> None:
        self._port = port
        self._clock = cast("LoopClock", port.clock)
        self._door = Door(InsideBackend(port), self._clock, options, port.requests.judge)
        if compiled := port.offered("speedups.received"):
            self._door.translate_by(compiled)
        if compiled := port.offered("speedups.sent"):
            self._door.read_sends_by(compiled)
        if compiled := port.offered("speedups.acks"):
            self._door.read_acks_by(compiled)
        self._own = DoorPort(self._door, self._clock, options, port.directory / "grpc")
        if compiled := port.offered("speedups.fields"):
            self._own.reader = made_by(compiled)

    async def start(self) -> None:
        """Listen. Raises `OSError`, `SettingError`."""
        await self._own.start(self._broker_host())

    def _broker_host(self) -> str:
        sections = self._port.administration.settings.sections
        return next(str(each.host) for each in sections if each.SECTION == "broker")

    def periodic(self) -> Sequence[Periodic]:
        """Messages in work stay hidden."""
        return (Periodic(_RENEW_SECONDS, self._door.renew, "renewal of messages in work"),)

    def counters(self) -> Mapping[str, str]:
        """Where it listens, and how much it has to do."""
        return self._own.counters()

    async def metrics(self) -> Sequence[Metric]:
        """How long calls took."""
        return (self._door.latencies.family(),)

    def offers(self) -> Mapping[str, Callable[..., object]]:
        """Where it listens, for who asked for any free port."""
        return {"grpc.port": lambda: self._own.bound}

    def answer_waiting(self) -> None:
        """Send clients elsewhere, and answer those that wait for messages."""
        self._door.leave()

    async def stop(self) -> None:
        """Close the port, and all connections."""
        await self._own.stop()

    def abandon(self) -> None:
        """Let go of what is open, without a word."""
        self._own.abandon()


@hookimpl
def register_broker_services() -> Factories:
    """`grpc`."""
    return {"grpc": GrpcService}
