"""How much of its log a SYNC_MASTER counts as safe: what enough slaves have (replication.md §4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mqframe.core.errors import TooFewReplicas
from mqframe.core.storage.outcome import Outcome


class InSyncLimits(NamedTuple):
    """How many brokers have to have a message; the master is one of them.

    `in_sync`: so many, for a success; `min_in_sync`: with fewer in sync nothing is taken; `every`: each slave
    in sync has to have it; `adapt`: as many as are in sync, from `min_in_sync` to `in_sync`, will do for a
    success; `behind_bytes_max`: a slave that is so far behind, or further, is not in sync.
    """

    in_sync: int
    min_in_sync: int = 1
    every: bool = False
    adapt: bool = False
    behind_bytes_max: int = 256 << 20


class InSync:
    """The rule of a SYNC_MASTER, a `mqframe.core.storage.replicas.Replicas`.

    |Brokers in sync|A message is confirmed when|Answered|
    |-|-|-|
    |at least `in_sync`|`in_sync` - 1 slaves have it|success|
    |fewer, at least `min_in_sync`|`min_in_sync` - 1 slaves have it: with 1, by the flush alone|11|
    |fewer than `min_in_sync`|not at all, and none is taken|1|

    `acknowledged`: for each slave that is connected, up to which log offset it has the log, which is not
    beyond its end; `heard` is to be called when that has changed.
    """

    def __init__(
        self,
        limits: InSyncLimits,
        timeout_seconds: float,
        acknowledged: Callable[[], Sequence[int]] = tuple,
    ) -> None:
        self.timeout_seconds = timeout_seconds
        self.acknowledged = acknowledged
        self.brokers = 1
        """How many are in sync, as far as it was looked at."""
        self._limits = limits
        self._end = 0
        self._reached = 0
        self._succeeded = 0
        # What is known of slaves holds for as long as the log ends before this.
        self._holds_until: float = 0
        self._waits_for_none = self._is_enough = False
        self._refusal: TooFewReplicas | None = None
        self._moved: Callable[[], object] = lambda: None

    def attach(self, end: int, moved: Callable[[], object]) -> int:
        """What a start finds counts as confirmed: consumers may have seen it."""
        self._end = self._reached = end
        self._moved = moved
        self._look(end)
        return end

    def heard(self) -> None:
        """A slave has reported, has come or has gone."""
        self._look(self._end)
        self._moved()

    def confirmed(self, end: int) -> int:
        """First log offset that is not confirmed, of a log that ends at `end`, bytes."""
        self._end = end
        if end >= self._holds_until:
            self._look(end)
        if self._waits_for_none:
            self._reached = end
        return self._reached

    def trouble(self, end: int) -> Outcome | None:
        """TOO_FEW_COPIES for what was not, or will not be, confirmed by as many as asked for."""
        if end <= self._succeeded or (self._is_enough and self._waits_for_none):
            return None
        return Outcome.TOO_FEW_COPIES

    def refusal(self) -> TooFewReplicas | None:
        """Why nothing is taken: fewer than `min_in_sync` brokers are in sync."""
        return self._refusal

    def _look(self, end: int) -> None:
        limits = self._limits
        behind = limits.behind_bytes_max
        near = sorted([each for each in self.acknowledged() if end - each < behind], reverse=True)
        self._holds_until = near[-1] + behind if near else math.inf
        self.brokers = brokers = 1 + len(near)
        self._waits_for_none = self._is_enough = False
        if brokers < limits.min_in_sync:
            self._refusal = TooFewReplicas(
                f"in-sync replicas not enough: {brokers} of at least {limits.min_in_sync} brokers are in sync"
                f" (replication.min_in_sync, minInSyncReplicas); see that slaves follow this master:"
                f" {limits.min_in_sync - 1}, or ask for fewer"
            )
            return
        self._refusal = None
        self._is_enough = limits.adapt or brokers >= limits.in_sync
        needed = min(limits.in_sync, brokers) if self._is_enough else limits.min_in_sync
        slaves = len(near) if limits.every else max(needed, limits.min_in_sync) - 1
        if not slaves:
            self._waits_for_none = True
            return
        reached = near[slaves - 1]
        self._reached = max(self._reached, reached)
        if self._is_enough:
            self._succeeded = max(self._succeeded, reached)
