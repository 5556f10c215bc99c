"""What monitoring is shown of a name server: how long requests take, its budgets, and what it refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

from mqframe.core.measuring.family import Metric
from mqframe.core.measuring.numbers import budget_families, number_family
from mqframe.net.latencies import Latencies


class NameServerMetrics:
    """The metrics of the name server at `address`; `counters`: as operators are shown them."""

    def __init__(self, address: str, latencies: Latencies, counters: Callable[[], Mapping[str, str]]) -> None:
        self.labels: Mapping[str, str] = {"node_type": "nameserver", "node_id": address}
        self._latencies = latencies
        self._counters = counters

    async def families(self) -> AsyncIterator[Metric]:
        """All metrics."""
        yield self._latencies.family()
        counters = self._counters()
        for family in budget_families(counters):
            yield family
        yield number_family(counters)
