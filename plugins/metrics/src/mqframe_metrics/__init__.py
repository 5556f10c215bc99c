"""What servers measure, as Prometheus reads it, under the names that RocketMQ gives it.

`BrokerSource` and `NameServerSource` make metrics of the servers that an exporter is handed
(`mqframe.hooks.interfaces.Exporter`): exporters for other systems may show the same.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqframe_metrics.broker.source import BrokerSource as BrokerSource
    from mqframe_metrics.nameserver import NameServerSource as NameServerSource
    from mqframe_metrics.settings import MetricsSettings as MetricsSettings
    from mqframe_metrics.source import Measured as Measured

_HOME = {
    "Measured": "source:Measured",
    "MetricsSettings": "settings:MetricsSettings",
    "BrokerSource": "broker.source:BrokerSource",
    "NameServerSource": "nameserver:NameServerSource",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = home.partition(":")
    value = globals()[name] = getattr(import_module(f"mqframe_metrics.{module}"), attribute)
    return value
