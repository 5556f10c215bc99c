"""The exporters of a process: which there are, what they are told, and what their failures cost."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any, cast

import pytest
from mqframe_cli.processes.exporters import Exporters
from mqframe_cli.settings.configuration import load
from mqframe_cli.settings.monitoring import MonitoringSettings

from mqframe.broker.host import BrokerHost
from mqframe.core.errors import PluginError
from mqframe.hooks.interfaces import Exporter, ExporterPort
from mqframe.hooks.specs import hookimpl
from mqframe.nameserver.server import NameServer


class Noting(Exporter):
    """Notes what it is told."""

    def __init__(self, port: ExporterPort) -> None:
        self.port = port
        self.told: list[object] = []

    def settings_beside(self, number: int) -> dict[str, object]:
        return {"plugins.noting.port": 9000 + number}

    def starting(self, name: str, doing: Any) -> None:
        self.told.append((name, doing()))

    def broker_started(self, name: str, broker: object) -> None:
        self.told.append(broker)

    def nameserver_started(self, name: str, server: object) -> None:
        self.told.append(server)

    def proxy_started(self, name: str, proxy: object) -> None:
        self.told.append((name, proxy))


class Failing(Noting):
    """Fails at whatever it is told."""

    def starting(self, name: str, doing: Any) -> None:
        raise RuntimeError("broken")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Noting]:
    """Those that were made; `noting` and `failing` are all that is installed."""
    found: list[Noting] = []

    def maker(kind: type[Noting]) -> Any:
        def make(port: ExporterPort) -> Noting:
            found.append(kind(port))
            return found[-1]

        return make

    module = ModuleType("exporters_of_a_test")
    hook = hookimpl(lambda: {"noting": maker(Noting), "failing": maker(Failing)})
    module.register_exporters = hook  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
    points = [EntryPoint(f"exporter.{name}", module.__name__, "mqframe") for name in ("noting", "failing")]
    monkeypatch.setattr("mqframe.hooks.catalog._installed_entry_points", lambda: points)
    return found


def exporters(*items: str, servers: tuple[str, ...] = ("nameserver", "broker")) -> Exporters:
    return Exporters(load("server", {}, None, items, {}), servers)


def test_those_that_are_named_are_made_with_the_servers_and_the_settings(made: list[Noting]) -> None:
    found = exporters("monitoring.exporters=failing,noting")
    assert [type(each) for each in made] == [Failing, Noting]
    assert made[1].port.servers == ("nameserver", "broker")
    assert made[1].port.settings(MonitoringSettings).exporters == ("failing", "noting")
    assert [make() for make in found.services().values()] == made
    assert list(found.services()) == ["failing", "noting"]
    assert found.settings_beside(2) == {"plugins.noting.port": 9002}


def test_the_usual_one_is_not_missed_unless_it_is_named(made: list[Noting]) -> None:
    assert exporters().services() == {}
    assert exporters().settings_beside(0) == {}
    line = r'pip install "mqframe\[standard\]"; it alone: pip install mqframe-plugin-metrics'
    with pytest.raises(PluginError, match=f"exporter 'prometheus' is not installed; install it with: {line}"):
        exporters("monitoring.exporters=prometheus")


def test_they_are_told_of_proxies(made: list[Noting]) -> None:
    found, proxy = exporters("monitoring.exporters=noting", servers=("proxy",)), cast("Any", object())
    found.started("proxy", proxy)
    assert made[0].told == [("proxy", proxy)]


def test_they_are_told_of_brokers_and_name_servers_whichever_fails(
    made: list[Noting], caplog: pytest.LogCaptureFixture
) -> None:
    found = exporters("monitoring.exporters=failing,noting")
    broker = cast("BrokerHost", object.__new__(BrokerHost))
    nameserver = cast("NameServer", object.__new__(NameServer))
    supervisor = cast("BrokerHost", object())
    found.starting("broker", lambda: "opens its store")
    for name, service in {"nameserver": nameserver, "broker": broker, "brokers": supervisor}.items():
        found.started(name, service)
    assert made[1].told == [("broker", "opens its store"), nameserver, broker]
    assert made[0].told == [nameserver, broker]
    assert "exporter failed" in caplog.text
