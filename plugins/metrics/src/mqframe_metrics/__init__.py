"""What servers measure, as Prometheus reads it, under the names that RocketMQ gives it.

`BrokerSource` and `NameServerSource` make metrics of the servers that an exporter is handed
(`mqframe.hooks.interfaces.Exporter`): exporters for other systems may show the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqframe.hooks.late_names import late_names

if TYPE_CHECKING:
    from mqframe_metrics.broker.source import BrokerSource as BrokerSource
    from mqframe_metrics.nameserver import NameServerSource as NameServerSource
    from mqframe_metrics.settings import MetricsSettings as MetricsSettings
    from mqframe_metrics.source import Measured as Measured

__getattr__, __dir__ = late_names(
    __name__,
    {
        "BrokerSource": "mqframe_metrics.broker.source",
        "Measured": "mqframe_metrics.source",
        "MetricsSettings": "mqframe_metrics.settings",
        "NameServerSource": "mqframe_metrics.nameserver",
    },
)
