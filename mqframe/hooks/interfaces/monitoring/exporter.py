"""Exporters: what shows another system what the servers of a process measure, and whether they are ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from mqframe.hooks.interfaces.monitoring.measured import BrokerMeasures, NameServerMeasures

S = TypeVar("S")


class MonitoredServer(Protocol):
    """Whether a server can be sent to. May be asked in any thread."""

    @property
    def is_registered(self) -> bool:
        """Whether a name server knows a broker, or there is none that should; a proxy has found one."""

    @property
    def refusal(self) -> str:
        """Why it takes no messages at the moment; empty when it does."""


class MonitoredBroker(MonitoredServer, Protocol):
    """A broker that serves; which one may change, when its role does."""

    def measure(self) -> BrokerMeasures | None:
        """What the broker measures that is there at the moment; `None` while its role changes.

        The same object for as long as it is the same broker. Requests are timed from the first call on.
        """


class MonitoredNameServer(Protocol):
    """A name server that serves."""

    def measure(self) -> NameServerMeasures:
        """What it measures. Requests are timed from the first call on."""


class MonitoredProxy(NameServerMeasures, MonitoredServer, Protocol):
    """A server of another protocol that stands before brokers in other processes, and what it measures."""


class ExporterPort(Protocol):
    """Handed to the factory of an `Exporter`."""

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of the servers that are to start in this process, "nameserver", "broker" or "proxy"."""

    def settings(self, kind: type[S]) -> S:
        """The section of settings whose class is `kind`; the exporter's distribution adds it to programs
        (`mqframe.hooks.sections`). Raises KeyError for another.
        """


class Exporter:
    """Shows others what the servers of one process measure; by itself it shows nothing.

    Implement what is needed. Made as `factory(port[, options])`, with an `ExporterPort`, before anything
    starts; it starts before all servers, to say that they have not yet, and stops after them. Everything is
    called in the loop of the process and may not block.
    """

    @property
    def addresses(self) -> Mapping[str, str]:
        """Where it listens, "host:port" by what that is called; known once started, and printed then."""
        return {}

    def settings_beside(self, number: int) -> Mapping[str, object]:
        """By path, settings of the exporter in another process of the same machine, so that both find room.

        `number`: which broker of several of one server runs there, 0 for the first. Raises `SettingError`
        where there is none; its text goes on behind the option for so many: "with metrics from port …".
        """
        return {}

    def starting(self, name: str, doing: Callable[[], str]) -> None:
        """The server `name` is to start; `doing`: returns what it does meanwhile, in words."""

    def nameserver_started(self, name: str, server: MonitoredNameServer) -> None:
        """The name server `name` serves now."""

    def broker_started(self, name: str, broker: MonitoredBroker) -> None:
        """The broker `name` serves now."""

    def proxy_started(self, name: str, proxy: MonitoredProxy) -> None:
        """The proxy `name` serves now."""

    async def start(self) -> None:
        """Begin to show. Raises `SettingError` or `OSError` where that cannot be; nothing starts then."""

    async def stop(self) -> None:
        """Show no more."""
