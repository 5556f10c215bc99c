"""The exporter of those who choose none: found by its name, and idle where no port is named."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_metrics.serving.server import MetricsServer
from mqframe_metrics.settings import MetricsSettings

from mqframe.hooks.interfaces import Exporter
from mqframe.hooks.manager import PluginManager


class Port:
    """An `ExporterPort` with these settings."""

    servers = ("broker",)

    def __init__(self, **settings: Any) -> None:
        self._settings = MetricsSettings(**settings)

    def settings(self, kind: type[Any]) -> Any:
        assert kind is MetricsSettings
        return self._settings


def made(**settings: Any) -> Exporter:
    found: Exporter = PluginManager().create("exporter", "prometheus", None, Port(**settings))
    return found


def test_it_serves_where_a_port_is_named() -> None:
    exporter = made(port=9100)
    assert isinstance(exporter, MetricsServer)
    assert exporter.addresses == {"metrics": "127.0.0.1:9100"}


@pytest.mark.parametrize("settings", [{}, {"port": 9100, "exporter": "DISABLE"}])
def test_elsewhere_it_shows_nothing(settings: dict[str, Any]) -> None:
    assert type(made(**settings)) is Exporter
