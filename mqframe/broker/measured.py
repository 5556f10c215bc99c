"""What monitoring may know of one broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mqframe.broker.dispatch_lag import DispatchLag
from mqframe.broker.state import BrokerState
from mqframe.broker.tables.shared import Registry
from mqframe.broker.tables.statistics import Statistics
from mqframe.core.measuring.family import Family
from mqframe.hooks.interfaces import BrokerPort, BrokerService
from mqframe.net.latencies import Latencies
from mqframe.store.following.lag import Lag
from mqframe.store.message_store import MessageStore


class MeasuredStore:
    """`StoreMeasures` of a store."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store

    @property
    def directory(self) -> Path:
        """Where it is."""
        return self._store.settings.directory

    @property
    def flushed_offset(self) -> int:
        """First log offset that is not known to be on disk."""
        return self._store.log.flushed_offset

    @property
    def confirmed_offset(self) -> int:
        """First log offset that consumers may not see yet."""
        return self._store.log.confirmed_offset

    @property
    def refuses(self) -> bool:
        """Whether it takes no message at the moment."""
        return bool(self._store.refusals.now() or self._store.disk.refusal)

    @property
    def distrusted(self) -> bool:
        """Whether the disk may lack what it was to hold."""
        return bool(self._store.disk.trouble)

    def lags(self) -> list[Lag]:
        """Of all dispatchers that follow the log; their messages are not counted, which takes many reads."""
        return self._store.lags(count=False)


class MeasuredBroker:
    """`BrokerMeasures` of one broker.

    `services`: all its parts and services; `latencies`: of its requests; `counters`: the broker's own.
    """

    def __init__(
        self,
        state: BrokerState,
        services: Sequence[BrokerService],
        latencies: Latencies,
        counters: Callable[[], Mapping[str, str]],
    ) -> None:
        self._state = state
        self._latencies = latencies
        self._counters = counters
        self.services = services
        self.store = MeasuredStore(state.store)

    @property
    def port(self) -> BrokerPort:
        """What services are handed."""
        return self._state

    @property
    def tables(self) -> Registry:
        """What it knows by name."""
        return self._state.registry

    @property
    def traffic(self) -> Statistics:
        """Messages in and out."""
        return self._state.counts

    @property
    def counters(self) -> list[Callable[[], Mapping[str, str]]]:
        """The numbers that operators are shown, but how far dispatchers are behind: `store.lags` has that."""
        services = [each for each in self.services if not isinstance(each, DispatchLag)]
        return [
            *(each.counters for each in services),
            self._state.store.damage.counters,
            self._state.left_out.counters,
            self._counters,
        ]

    def latencies(self) -> Family:
        """How long requests took, by request and answer."""
        return self._latencies.family()

    def budgets(self) -> Mapping[str, str]:
        """How much of each budget is in use, the most that may be, and how often that was refused."""
        return self._state.budgets.counters()
