"""How asyncio clients start and stop: as context managers, with an instance of their own or a shared one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from mqframe.client.configuration.from_config import Configurable
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.settings import ClientSettings
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.clock import LoopClock
from mqframe.net.settings import NetSettings


def described(client: object, group: str, phase: str) -> str:
    """The `repr` of a client: "<Producer of group shop, running>"."""
    words = f" of group {group}" if group else ""
    return f"<{type(client).__name__}{words}{f', {phase}' if phase else ''}>"


def phase_of(*, running: bool, stopped: bool) -> str:
    """The phase of a client that is started once and stopped once."""
    return "stopped" if stopped else "running" if running else "not started"


class AsyncClient(Configurable, ABC):
    """A client of one asyncio loop: started once and stopped once, as an `async with` block does."""

    @abstractmethod
    async def start(self) -> None:
        """Begin to work."""

    @abstractmethod
    async def stop(self) -> None:
        """End in good order. Twice does no harm."""

    def _phase(self) -> str:
        """Whether it runs, for people; "" where that does not matter."""
        return ""

    def __repr__(self) -> str:
        return described(self, getattr(self, "group", ""), self._phase())

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


class RunnableClient(AsyncClient):
    """A client that can be run until the process is signalled to end."""

    @abstractmethod
    def end(self) -> None:
        """Make `run` return."""

    @abstractmethod
    async def _start_or_end(self, *, fail_fast: bool) -> None:
        """`start`, waiting for name servers unless `fail_fast`; returns early after `end`."""


class InstanceLease:
    """The client instance of one client: `shared`, which others start and stop, or else one of its own."""

    def __init__(
        self,
        shared: ClientInstance | None,
        settings: ClientSettings,
        clock: LoopClock,
        net: NetSettings | None,
        rpc_hooks: tuple[RpcHook, ...],
    ) -> None:
        self._shared = shared
        self.settings = settings
        self._clock = clock
        self.net = net
        self._rpc_hooks = rpc_hooks

    @property
    def is_shared(self) -> bool:
        """Whether others start and stop the instance."""
        return self._shared is not None

    async def open(self) -> ClientInstance:
        """The instance, started."""
        if self._shared is not None:
            return self._shared
        instance = ClientInstance.connect(self.settings, self._clock, self.net, rpc_hooks=self._rpc_hooks)
        await instance.start()
        return instance

    async def close(self, instance: ClientInstance) -> None:
        """Stop `instance`, which `open` returned, unless it is shared."""
        if self._shared is None:
            await instance.stop()
