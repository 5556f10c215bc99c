"""What copies confirm in an elected group: of a leader's log, and of a follower's (election.md §4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.errors import StoreUnavailable, TooFewReplicas
from mqframe.core.storage.outcome import Outcome
from mqframe_election.rules.lease import Lease
from mqframe_election.rules.sync_set import SetLimits, SyncSet
from mqframe_election.rules.term import LeaderTerm

_NOTHING: Final = 0


class LeadHandedOver(StoreUnavailable):
    """A leader that takes no more messages, and goes on to confirm those that it has."""

    ends_waits = False


class LeaderReplicas:
    """The `Replicas` of a leader's store: what all members of its set have, as long as it is sure to lead.

    `timeout_seconds`: how long those who wait do so. `members`: there once the store is open. `heir`: the
    broker that is to lead next, for whom this one takes no more messages; 0: none.
    """

    def __init__(self, term: LeaderTerm, clock: Clock, limits: SetLimits, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds
        self._term = term
        self._lease: Lease = term.lease
        self._clock = clock
        self._limits = limits
        self._moved: Callable[[], object] = lambda: None
        self._copied = _NOTHING
        self._ended = False
        self.heir = 0
        self.members: SyncSet | None = None
        self.told: Callable[[], int] = lambda: self._copied
        """Up to where consumers may see the log: what followers are told."""

    @property
    def epoch(self) -> int:
        """Of this term."""
        return self._term.state.epoch

    @property
    def leader(self) -> int:
        """The number of this broker."""
        return self._term.state.leader

    def attach(self, end: int, moved: Callable[[], object]) -> int:
        """As `Replicas.attach`: the term begins at `end`. Nobody reads before all of that is confirmed."""
        term = self._term
        now = self._clock.monotonic()
        self.members = SyncSet(term.state, term.version, end, self._limits, now)
        self._copied = self.members.confirmed
        self._moved = moved
        return end

    def confirmed(self, end: int) -> int:
        """As `Replicas.confirmed`."""
        members = self.members
        copied = _NOTHING if members is None else min(end, members.least)
        if members is not None and copied > self._copied and self._leads():
            # Whoever joins from now on has to have it.
            self._copied = members.counted_on = copied
        return self._copied

    def trouble(self, end: int) -> Outcome | None:
        """As `Replicas.trouble`: what is not confirmed is late, whatever the reason."""
        return None

    def refusal(self) -> StoreUnavailable | None:
        """As `Replicas.refusal`."""
        if not self._leads():
            return StoreUnavailable(
                f"this broker is no longer sure to lead in epoch {self._term.state.epoch}: another one"
                " may be elected; send again, by a route that is asked for anew"
            )
        if self.heir:
            return LeadHandedOver(
                f"this broker hands over its lead to broker {self.heir}: send again, by a route that is asked"
                " for anew"
            )
        members = self.members
        if members is not None and not members.has_enough:
            return TooFewReplicas(
                f"in-sync replicas not enough: replication.min_in_sync asks for {self._limits.members_min},"
                f" connected are fewer of the brokers in sync ({', '.join(map(str, members.state.members))})"
            )
        return None

    def _leads(self) -> bool:
        return not self._ended and self._lease.is_trusted(self._clock.monotonic())

    def heard(self) -> None:
        """What members said, or which there are, has changed."""
        if self.members is not None:
            self._moved()

    def end(self) -> None:
        """The term is over: nothing more is confirmed or stored."""
        self._ended = True
        self._moved()


class FollowerReplicas:
    """The `Replicas` of a follower's store: what its leader told it is confirmed."""

    timeout_seconds = 1.0

    def __init__(self, known: int) -> None:
        """`known`: log offset, bytes, that was confirmed when this broker heard of it last."""
        self._moved: Callable[[], object] = lambda: None
        self.told = known

    def attach(self, end: int, moved: Callable[[], object]) -> int:
        """As `Replicas.attach`; nobody reads before all of that is confirmed."""
        self._moved = moved
        return end

    def confirmed(self, end: int) -> int:
        """As `Replicas.confirmed`."""
        return min(end, self.told)

    def tell(self, confirmed: int) -> None:
        """All members have the log up to `confirmed`, as the leader says."""
        if confirmed > self.told:
            self.told = confirmed
            self._moved()

    def trouble(self, end: int) -> Outcome | None:
        """As `Replicas.trouble`."""
        return None

    def refusal(self) -> StoreUnavailable | None:
        """As `Replicas.refusal`: a copy has none."""
        return None
