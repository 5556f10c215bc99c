"""The exporters of a process that runs servers: made by the names in its settings, and shown the servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar, cast

import attrs

from mqframe.core.config.configuration import Resolved
from mqframe.hooks.interfaces import Exporter, MonitoredProxy
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger
from mqframe_cli.processes.serving import Service, Services
from mqframe_cli.settings.configuration import given_origins
from mqframe_cli.settings.monitoring import MonitoringSettings
from mqframe_cli.settings.run_plugins import plugin_manager

S = TypeVar("S")
log: Final = get_logger("cli")
_EXPORTER: Final = "exporter"


@attrs.frozen
class ProcessPort:
    """`ExporterPort` of this process."""

    servers: tuple[str, ...]
    resolved: Resolved

    def settings(self, kind: type[S]) -> S:
        """The section of settings whose class is `kind`."""
        return self.resolved.section(kind)


class Exporters:
    """Those that the settings name. `servers`: what is to start in this process.

    Raises `PluginError` and `SettingError` where one cannot be made.
    """

    def __init__(self, resolved: Resolved, servers: tuple[str, ...]) -> None:
        plugins = plugin_manager().configured(resolved.plugins())
        port = ProcessPort(servers, resolved)
        self._made: dict[str, Exporter] = {
            name: plugins.create(_EXPORTER, name, None, port) for name in _chosen(resolved, plugins)
        }

    def services(self) -> dict[str, Callable[[], Services]]:
        """Each as something to be started, by the names of their plugins."""
        return {name: lambda made=each: made for name, each in self._made.items()}  # type: ignore[misc]

    def settings_beside(self, number: int) -> dict[str, object]:
        """By path, settings of them in the process of the broker `number` of several.

        Raises `SettingError` where there is no room for it.
        """
        return {
            path: value
            for each in self._made.values()
            for path, value in each.settings_beside(number).items()
        }

    def starting(self, name: str, doing: Callable[[], str]) -> None:
        """The server `name` is to start; `doing`: returns what it does meanwhile."""
        self._each(lambda exporter: exporter.starting(name, doing))

    def started(self, name: str, service: Service | Services) -> None:
        """`service` serves now; only brokers, name servers and proxies are shown."""
        # A process has imported what it serves; a name server needs nothing of brokers.
        if name == "broker":
            from mqframe.broker.host import BrokerHost

            if isinstance(service, BrokerHost):
                self._each(lambda exporter: exporter.broker_started(name, service))
        elif name == "nameserver":
            from mqframe.nameserver.server import NameServer

            if isinstance(service, NameServer):
                self._each(lambda exporter: exporter.nameserver_started(name, service))
        elif name == "proxy":
            self._each(lambda exporter: exporter.proxy_started(name, cast("MonitoredProxy", service)))

    def _each(self, tell: Callable[[Exporter], object]) -> None:
        for name, exporter in self._made.items():
            try:
                tell(exporter)
            except Exception:  # isolation boundary: servers go on, whoever watches them
                log.exception("exporter failed", exporter=name)


def _chosen(resolved: Resolved, plugins: PluginManager) -> tuple[str, ...]:
    """The exporters that somebody named; else the usual ones, as far as they are installed."""
    wanted = resolved.section(MonitoringSettings).exporters
    if "monitoring.exporters" in given_origins(resolved):
        return wanted
    there = plugins.names(_EXPORTER)
    return tuple(name for name in wanted if name in there)
