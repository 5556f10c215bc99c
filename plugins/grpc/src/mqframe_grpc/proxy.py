"""A door in a process of its own: what `mqframe proxy` runs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.settings import ClientSettings
from mqframe.core.measuring.family import Family
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock
from mqframe.net.settings import NetSettings
from mqframe_grpc.access import ask_nobody
from mqframe_grpc.door import Door
from mqframe_grpc.judging import ProxyAccess
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.outside.backend import OutsideBackend
from mqframe_grpc.outside.users import BrokerUsers
from mqframe_grpc.port import DoorPort

log = get_logger("grpc")

HOST: Final = "127.0.0.1"
_RENEW_SECONDS: Final = 1.0


class Proxy:
    """A door before all brokers that the name servers of `client` know.

    `access`: says who its clients are and what they may, and signs what it asks of brokers. It keeps nothing:
    any number of them may stand side by side, and one that starts anew goes on where it was. Raises
    `SettingError` for options that cannot be.
    """

    def __init__(
        self,
        client: ClientSettings,
        net: NetSettings,
        options: GrpcOptions,
        clock: LoopClock,
        access: ProxyAccess,
    ) -> None:
        self._host = options.host or HOST
        self._clock = clock
        self._access = access
        self._instance = ClientInstance.connect(client, clock, net, rpc_hooks=access.rpc_hooks)
        self._backend = OutsideBackend(self._instance)
        self._door = Door(self._backend, clock, options, ask_nobody if access.asks_nobody else access)
        self._folder = Path(tempfile.mkdtemp(prefix="mqframe-proxy-"))
        self._port = DoorPort(self._door, clock, options, self._folder)
        self._renewal: Every | None = None

    @property
    def address(self) -> str:
        """Where it listens, "host:port", once started."""
        host = self._host.strip("[]")
        return f"[{host}]:{self._port.bound}" if ":" in host else f"{host}:{self._port.bound}"

    @property
    def is_registered(self) -> bool:
        """Whether a name server could be asked which brokers there are. May be asked in any thread."""
        return self._backend.masters.is_known

    @property
    def refusal(self) -> str:
        """Why it takes no messages at the moment; empty when it does. May be asked in any thread."""
        return self._access.refusal if self._backend.brokers else "name servers know no broker"

    def latencies(self) -> Family:
        """How long calls took, by RPC and answer."""
        return self._door.latencies.family()

    def counters(self) -> Mapping[str, str]:
        """Where it listens, and how much it has to do."""
        return {
            **self._port.counters(),
            **self._access.counters(),
            "grpc.brokers": str(len(self._backend.brokers)),
            "grpc.members": str(len(self._backend.members)),
            "grpc.asked": str(self._instance.remoting.in_flight_requests),
        }

    async def start(self) -> None:
        """Find the brokers, and listen. Raises `OSError`, `SettingError`."""
        if self._access.rpc_hooks and self._access.asks_nobody:
            log.warning(
                "requests of all clients are signed for them: whoever gets here may do what the user may; "
                "access.authentication has them sign themselves"
            )
        await self._backend.start()
        await self._access.start(BrokerUsers(self._backend.asking.call, lambda: self._backend.brokers))
        await self._port.start(self._host)
        self._renewal = Every(self._clock, _RENEW_SECONDS, self._door.renew, name="renewal of messages")

    async def stop(self) -> None:
        """Send clients elsewhere, answer what is being served, and leave brokers."""
        if self._renewal is not None:
            self._renewal.stop()
        await self._port.stop()
        self._access.stop()
        await self._backend.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
