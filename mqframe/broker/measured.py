"""What monitoring may know of one broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mqframe.broker.dispatch_lag import DispatchLag
from mqframe.broker.state import BrokerState
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

    `services`: all its parts and services; `latencies`: of its requests. `counters`: the numbers that
    operators are shown, the broker's own last, but how far dispatchers are behind: `store.lags` has that.
    """

    def __init__(
        self,
        state: BrokerState,
        services: Sequence[BrokerService],
        latencies: Latencies,
        counters: Callable[[], Mapping[str, str]],
    ) -> None:
        self.port: BrokerPort = state
        self.tables = state.registry
        self.traffic = state.counts
        self.store = MeasuredStore(state.store)
        self.services = services
        self.counters = [
            *(each.counters for each in services if not isinstance(each, DispatchLag)),
            state.store.damage.counters,
            state.left_out.counters,
            counters,
        ]
        self.latencies = latencies.family
        self.budgets = state.budgets.counters
