"""All metrics of one broker, gathered in turns of its loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

from mqframe.core.measuring.family import Family, Metric, MetricKind, one
from mqframe.hooks.interfaces import BrokerMeasures, BrokerService
from mqframe.log import get_logger
from mqframe.turns import next_turn
from mqframe_metrics.broker.clients import consumers, producers
from mqframe_metrics.broker.consumers import ConsumerMetrics
from mqframe_metrics.broker.storage import StorageMetrics, dispatchers
from mqframe_metrics.broker.traffic import dead_letters, messages_in, messages_out
from mqframe_metrics.rules.numbers import budget_families, number_family

log = get_logger("broker")


class BrokerMetrics:
    """What monitoring is shown of a broker that measures `measures`."""

    def __init__(self, measures: BrokerMeasures) -> None:
        self._measures = measures
        self._storage = StorageMetrics(measures)
        self._consumers = ConsumerMetrics(measures)

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels that all series of this broker have."""
        identity = self._measures.port.identity
        return {"cluster": identity.cluster, "node_type": "broker", "node_id": identity.name}

    async def families(self) -> AsyncIterator[Metric]:
        """All metrics; those that may be long are made while they are written."""
        measures = self._measures
        traffic, clients = measures.traffic, measures.port.clients
        for some in (self._of_broker(), self._storage.families()):
            for family in some:
                yield family
        yield measures.latencies()
        await next_turn()
        yield messages_in(traffic)
        yield messages_out(traffic)
        yield await producers(clients)
        yield consumers(clients)
        yield dead_letters(traffic)
        yield self._consumers.table()
        for family in dispatchers(measures):
            yield family
        for part in measures.services:
            for metric in await self._of_part(part):
                yield metric
            await next_turn()
        for family in self._numbers():
            yield family

    def _of_broker(self) -> Iterable[Family]:
        tables = self._measures.tables
        for name, meaning, value in (
            (
                "rocketmq_broker_permission",
                "4: may be read, 2: written, 6: both.",
                self._measures.port.in_force.permission,
            ),
            ("rocketmq_topic_number", "Topics, those of the system included.", len(tables.topics)),
            ("rocketmq_consumer_group_number", "Consumer groups.", len(tables.groups)),
        ):
            yield one(name, MetricKind.GAUGE, meaning, value)

    async def _of_part(self, part: BrokerService) -> Sequence[Metric]:
        try:
            return await part.metrics()
        except Exception:  # isolation boundary: the metrics of others are to be seen
            log.exception("metrics failed", of=type(part).__name__)
            return ()

    def _numbers(self) -> Iterable[Family]:
        """Numbers that operators are shown anyway: budgets, and counters of all services."""
        found: dict[str, str] = {}
        for counters in self._measures.counters:
            try:
                found |= counters()
            except Exception:  # isolation boundary: as above
                log.exception("counters failed", of=repr(counters))
        yield from budget_families(self._measures.budgets())
        yield number_family(found)
