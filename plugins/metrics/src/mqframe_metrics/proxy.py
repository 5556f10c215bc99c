"""What monitoring is shown of a proxy: how long calls take, its budgets, and how much it has to do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from mqframe.core.measuring.family import Metric
from mqframe.hooks.interfaces import MonitoredProxy
from mqframe_metrics.rules.numbers import budget_families, number_family


class ProxySource:
    """The metrics of a proxy."""

    def __init__(self, proxy: MonitoredProxy) -> None:
        self._proxy = proxy
        self.labels: Mapping[str, str] = {"node_type": "proxy", "node_id": proxy.address}

    async def families(self) -> AsyncIterator[Metric]:
        """All metrics."""
        yield self._proxy.latencies()
        counters = self._proxy.counters()
        for family in budget_families(counters):
            yield family
        yield number_family(counters)
