"""The metrics of a broker that may be made anew when its role changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from mqframe.core.measuring.family import Metric
from mqframe.hooks.interfaces import BrokerMeasures, MonitoredBroker
from mqframe_metrics.broker.broker_metrics import BrokerMetrics


class BrokerSource:
    """Metrics of the broker that is there at the moment; its requests are timed from now on."""

    def __init__(self, broker: MonitoredBroker) -> None:
        self._broker = broker
        self._measures: BrokerMeasures | None = None
        self._metrics: BrokerMetrics | None = None
        self._now()

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels that all of them have."""
        return {} if self._metrics is None else self._metrics.labels

    async def families(self) -> AsyncIterator[Metric]:
        """All of them; none while the role changes."""
        metrics = self._now()
        if metrics is not None:
            async for family in metrics.families():
                yield family

    def _now(self) -> BrokerMetrics | None:
        """The metrics of the broker that is there, which go on for as long as it is the same one."""
        measures = self._broker.measure()
        if measures is None:
            return None
        if self._measures is not measures:
            self._measures, self._metrics = measures, BrokerMetrics(measures)
        return self._metrics
