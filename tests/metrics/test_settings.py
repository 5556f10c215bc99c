"""Settings of the metrics port."""

from __future__ import annotations

import pytest

from mqframe.cli.configuration import load
from mqframe.core.config.layers import broker_conf
from mqframe.core.errors import SettingError
from mqframe.metrics.settings import MetricsSettings


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


def test_no_address_is_none_of_all() -> None:
    with pytest.raises(SettingError, match="metrics.host"):
        MetricsSettings(host="")
