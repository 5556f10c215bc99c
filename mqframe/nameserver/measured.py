"""What monitoring may know of a name server."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqframe.core.measuring.family import Family
from mqframe.net.latencies import Latencies


class MeasuredNameServer:
    """`NameServerMeasures` of the one at `address`; `counters`: as operators are shown them."""

    def __init__(self, address: str, latencies: Latencies, counters: Callable[[], Mapping[str, str]]) -> None:
        self.address = address
        self._latencies = latencies
        self.counters = counters

    def latencies(self) -> Family:
        """How long requests took, by request and answer."""
        return self._latencies.family()
