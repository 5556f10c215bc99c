"""Settings of the metrics port."""

from __future__ import annotations

from typing import Any

import pytest
from conf_files import broker_conf
from mqframe_cli.settings.configuration import load
from mqframe_metrics.settings import MetricsSettings

from mqframe.core.errors import SettingError


@pytest.mark.parametrize(
    ("lines", "served"),
    [
        ("", False),
        ("metricsPromExporterPort=5557\n", True),
        ("metricsPromExporterPort=5557\nmetricsExporterType=PROM\n", True),
        ("metricsPromExporterPort=5557\nmetricsPromExporterHost=\nmetricsExporterType=DISABLE\n", False),
    ],
)
def test_a_file_of_rocketmq_that_names_a_port_may_serve_nothing(lines: str, served: bool) -> None:
    resolved = load("broker", {}, None, (), {}, layers=[broker_conf(lines, "broker.conf")])
    settings = resolved.section(MetricsSettings)
    assert (settings.served, settings.host) == (served, "127.0.0.1")


def test_nothing_is_served_unless_a_port_is_named() -> None:
    assert not MetricsSettings().served
    assert MetricsSettings(port=0).served


@pytest.mark.parametrize(
    "wrong", [{"port": 70_000}, {"series_max": 0}, {"scrape_seconds": 0}, {"host": ""}, {"exporter": "X"}]
)
def test_bad_values_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=f"metrics.{next(iter(wrong))}"):
        MetricsSettings(**wrong)
