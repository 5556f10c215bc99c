"""All metrics of one broker, gathered in turns of its loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

from mqframe.broker.admin.dispatch_lag import DispatchLag
from mqframe.broker.metrics.clients import consumers, producers
from mqframe.broker.metrics.consumers import ConsumerMetrics
from mqframe.broker.metrics.storage import StorageMetrics, dispatchers
from mqframe.broker.metrics.traffic import dead_letters, messages_in, messages_out
from mqframe.broker.state import BrokerState
from mqframe.core.measuring.family import Family, Kind, Metric, one
from mqframe.core.measuring.numbers import budget_families, number_family
from mqframe.hooks.interfaces import BrokerService
from mqframe.log import get_logger
from mqframe.net.latencies import Latencies
from mqframe.turns import next_turn

log = get_logger("broker")


class BrokerMetrics:
    """What monitoring is shown of a broker.

    `parts`: all parts and services of the broker; `counters`: its own.
    """

    def __init__(
        self,
        state: BrokerState,
        parts: Sequence[BrokerService],
        latencies: Latencies,
        counters: Callable[[], Mapping[str, str]],
    ) -> None:
        self._state = state
        self._parts = parts
        self._latencies = latencies
        self._counters = counters
        self._storage = StorageMetrics(state.store, state.clock)
        self._consumers = ConsumerMetrics(
            state.store, state.registry, state.offered("pop.in_flight"), state.clock
        )

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels that all series of this broker have."""
        identity = self._state.identity
        return {"cluster": identity.cluster, "node_type": "broker", "node_id": identity.name}

    async def families(self) -> AsyncIterator[Metric]:
        """All metrics; those that may be long are made while they are written."""
        state = self._state
        for some in (self._of_broker(), self._storage.families()):
            for family in some:
                yield family
        yield self._latencies.family()
        await next_turn()
        yield messages_in(state.counts)
        yield messages_out(state.counts)
        yield await producers(state.clients)
        yield consumers(state.clients)
        yield dead_letters(state.counts)
        yield self._consumers.table()
        for family in dispatchers(state.store, state.clock):
            yield family
        for part in self._parts:
            for metric in await self._of_part(part):
                yield metric
            await next_turn()
        for family in self._numbers():
            yield family

    def _of_broker(self) -> Iterable[Family]:
        state = self._state
        for name, meaning, value in (
            (
                "rocketmq_broker_permission",
                "4: may be read, 2: written, 6: both.",
                state.live.current.permission,
            ),
            ("rocketmq_topic_number", "Topics, those of the system included.", len(state.topics)),
            ("rocketmq_consumer_group_number", "Consumer groups.", len(state.groups)),
        ):
            yield one(name, Kind.GAUGE, meaning, value)

    async def _of_part(self, part: BrokerService) -> Sequence[Metric]:
        try:
            return await part.metrics()
        except Exception:  # isolation boundary: the metrics of others are to be seen
            log.exception("metrics failed", of=type(part).__name__)
            return ()

    def _numbers(self) -> Iterable[Family]:
        """Numbers that operators are shown anyway: budgets, and counters of all services."""
        found: dict[str, str] = {}
        # How far dispatchers are behind is shown above; to count their messages, too, takes many reads.
        parts = [part for part in self._parts if not isinstance(part, DispatchLag)]
        for counters in (
            *(part.counters for part in parts),
            self._state.store.damage.counters,
            self._state.left_out.counters,
            self._counters,
        ):
            try:
                found |= counters()
            except Exception:  # isolation boundary: as above
                log.exception("counters failed", of=repr(counters))
        yield from budget_families(self._state.budgets.counters())
        yield number_family(found)
