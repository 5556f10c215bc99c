"""What monitoring is shown of a name server: how long requests take, and its budgets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

from mqframe.core.measuring.family import Metric
from mqframe.core.measuring.numbers import budget_families
from mqframe.net.latencies import Latencies


class NameServerMetrics:
    """The metrics of the name server at `address`; `counters`: its budgets, as operators are shown them."""

    def __init__(self, address: str, latencies: Latencies, counters: Callable[[], Mapping[str, str]]) -> None:
        self.labels: Mapping[str, str] = {"node_type": "nameserver", "node_id": address}
        self._latencies = latencies
        self._counters = counters

    async def families(self) -> AsyncIterator[Metric]:
        """All metrics."""
        yield self._latencies.family()
        for family in budget_families(self._counters()):
            yield family
