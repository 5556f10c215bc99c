"""What monitoring is shown of a name server: how long requests take, its budgets, and what it refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from mqframe.core.measuring.family import Metric
from mqframe.hooks.interfaces import MonitoredNameServer
from mqframe_metrics.rules.numbers import budget_families, number_family


class NameServerSource:
    """The metrics of a name server; its requests are timed from now on."""

    def __init__(self, server: MonitoredNameServer) -> None:
        self._measures = server.measure()
        self.labels: Mapping[str, str] = {"node_type": "nameserver", "node_id": self._measures.address}

    async def families(self) -> AsyncIterator[Metric]:
        """All metrics."""
        yield self._measures.latencies()
        counters = self._measures.counters()
        for family in budget_families(counters):
            yield family
        yield number_family(counters)
