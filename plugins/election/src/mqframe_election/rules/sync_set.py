"""The set of brokers in sync, and up to where all of them have the log (election.md §4).

The leader's rules, without an engine, a clock or a connection. The set that counts is the one that the engine
recorded, together with one that was sent to it and whose fate is not known.
"""

from __future__ import annotations

from typing import Final

import attrs

from mqframe_election.rules.group import GroupState

NOWHERE: Final = -1
EVERYWHERE: Final = 2**63 - 1


@attrs.frozen
class SetLimits:
    """`members_min`: with fewer, nothing is confirmed; `lag_seconds`: a member that did not catch up for so
    long leaves; one that is not connected leaves after `away_seconds`."""

    members_min: int
    lag_seconds: float
    away_seconds: float


@attrs.define
class _Progress:
    """Of one other broker.

    `end`: up to where it has the log, `NOWHERE` while that is not known; `away_since`: it was well the last
    time; `first`: where its log ended when it was connected, `NOWHERE` before it said so; `is_well`: it has
    got something by this connection since, or lacked nothing. `goal`: where the leader's log ended at
    `goal_at`; `caught_up_at`: when the leader's log ended where this one does now; `leaves`: it is to be out
    of the set before it counts.
    """

    away_since: float
    end: int = NOWHERE
    first: int = NOWHERE
    is_well: bool = False
    goal: int = 0
    goal_at: float = 0.0
    caught_up_at: float = 0.0
    leaves: bool = False


class SyncSet:
    """What a leader knows of its set.

    `state`, `version`: as recorded by the claim; `start`: where its log ended then; `confirmed`: up to where
    it knows that all members have the log; `least`: up to where all others who count have it, as
    `least_of_others` says; `counted_on`: up to where that was made use of, which no broker that joins may
    lack, whether the leader itself has it on disk yet or not; `unable`: brokers that say that they cannot
    store. `now`: seconds of a clock that never goes back.
    """

    def __init__(self, state: GroupState, version: int, start: int, limits: SetLimits, now: float) -> None:
        self.state = state
        self.version = version
        self.start = start
        self.confirmed = self.counted_on = min(state.confirmed, start)
        self.pending: GroupState | None = None
        self.unable: frozenset[int] = frozenset()
        self._limits = limits
        self._me = state.leader
        self._others: dict[int, _Progress] = {}
        for number in state.members:
            if number != self._me:
                self._others[number] = _Progress(now, caught_up_at=now)
        self.least = self.least_of_others()

    @property
    def counted(self) -> tuple[int, ...]:
        """All whose acknowledgement is needed now."""
        pending = self.pending.members if self.pending is not None else ()
        return tuple(sorted({*self.state.members, *pending}))

    @property
    def has_enough(self) -> bool:
        """Whether the set is large enough, and connected, so that what is stored now can be confirmed."""
        there = [number for number in self.state.members if number == self._me or self._is_there(number)]
        return len(there) >= self._limits.members_min

    def _is_there(self, number: int) -> bool:
        other = self._others.get(number)
        return other is not None and other.end != NOWHERE and number not in self.unable

    def keeping_up(self, log_end: int, now: float) -> tuple[int, ...]:
        """The other members that are connected, get what the leader sends, and say that they can store."""
        return tuple(
            number
            for number, other in sorted(self._others.items())
            if number in self.state.members
            and self._is_there(number)
            and other.is_well
            and not (other.leaves or self._lags(other, log_end, now))
        )

    def joined(self, number: int, now: float, *, is_clean: bool) -> None:
        """The broker `number` is connected; what it said before counts no more.

        One that is not clean may lack what it acknowledged: it leaves the set before anything of it counts.
        A connection alone shows nothing: until it gets something, a member has been away since the last one
        by which it did.
        """
        known = self._others.get(number)
        leaves = number in self.counted and (not is_clean or (known is not None and known.leaves))
        caught_up_at = known.caught_up_at if known is not None else now
        away_since = known.away_since if known is not None and not known.is_well else now
        self._others[number] = _Progress(away_since, caught_up_at=caught_up_at, leaves=leaves)
        self.least = self.least_of_others()

    def acknowledged(self, number: int, end: int, log_end: int, now: float) -> None:
        """The broker `number` has the log up to `end`; the leader's ends at `log_end`."""
        other = self._others.get(number)
        if other is None:
            return
        other.end = max(other.end, end)
        other.first = end if other.first == NOWHERE else other.first
        other.is_well = other.is_well or other.end >= log_end or other.end > other.first
        if other.end >= log_end:
            other.caught_up_at, other.goal, other.goal_at = now, log_end, now
        elif other.end >= other.goal:
            other.caught_up_at = max(other.caught_up_at, other.goal_at)
            other.goal, other.goal_at = log_end, now
        self.least = self.least_of_others()

    def left(self, number: int, now: float) -> None:
        """The connection of the broker `number` ended."""
        other = self._others.get(number)
        if other is None:
            return
        if number in self.counted:
            other.away_since = now if other.is_well else other.away_since
            other.end, other.first, other.is_well = NOWHERE, NOWHERE, False
        else:
            del self._others[number]
        self.least = self.least_of_others()

    def confirm(self, own_end: int) -> int:
        """Up to where all who count have the log, the leader up to `own_end`. It never goes back."""
        self.confirmed = max(self.confirmed, min(own_end, self.least))
        return self.confirmed

    def least_of_others(self) -> int:
        """Up to where all others who count have the log.

        `NOWHERE` where one does not say, or there are too few for anything to be confirmed; `EVERYWHERE`
        where the leader is alone.
        """
        if len(self.state.members) < self._limits.members_min:
            return NOWHERE
        others = (number for number in self.counted if number != self._me)
        return min((self._acknowledged(number) for number in others), default=EVERYWHERE)

    def _acknowledged(self, number: int) -> int:
        other = self._others.get(number)
        return NOWHERE if other is None or other.leaves else other.end

    def wanted(self, log_end: int, now: float) -> GroupState | None:
        """The set that should be recorded in place of the present one; `None`: it is as it should be.

        One who was to lead next, while this broker leads still, is to be forgotten.

        Nothing is wanted while an earlier wish is under way.
        """
        if self.pending is not None:
            return None
        staying = [number for number in self.state.members if not self._should_leave(number, log_end, now)]
        forced_out = [number for number in self.state.members if self._must_leave(number)]
        if len(staying) < self._limits.members_min:
            staying = [number for number in self.state.members if number not in forced_out]
        joining = [number for number in sorted(self._others) if self._may_join(number, log_end, now)]
        members = tuple(sorted({*staying, *joining}))
        if members == tuple(sorted(self.state.members)) and not self.state.preferred:
            return None
        return self.state.with_members(members, self.confirmed)

    def _must_leave(self, number: int) -> bool:
        other = self._others.get(number)
        return other is not None and other.leaves

    def _should_leave(self, number: int, log_end: int, now: float) -> bool:
        if number == self._me:
            return False
        other = self._others.get(number)
        if other is None or other.leaves or number in self.unable:
            return True
        if other.end == NOWHERE:
            return now - other.away_since > self._limits.away_seconds
        return self._lags(other, log_end, now)

    def _lags(self, other: _Progress, log_end: int, now: float) -> bool:
        return other.end < log_end and now - other.caught_up_at > self._limits.lag_seconds

    def _may_join(self, number: int, log_end: int, now: float) -> bool:
        """Whether a broker outside of the set has all that is confirmed, and follows in this epoch.

        One that lags would have to leave at once: what it holds up is not confirmed, so it may lack nothing.
        """
        other = self._others[number]
        return (
            number not in self.state.members
            and self._is_there(number)
            and not other.leaves
            and not self._lags(other, log_end, now)
            and other.end >= max(self.confirmed, self.counted_on, self.start)
        )

    def sent(self, state: GroupState) -> None:
        """`state` is on its way to the engine: from now on those of both sets count."""
        self.pending = state
        self.least = self.least_of_others()

    def settled(self, state: GroupState, version: int) -> None:
        """`state` is what the engine holds now, whatever was wanted."""
        gone = {*self.counted} - {*state.members}
        self.state, self.version, self.pending = state, version, None
        for number in gone:
            other = self._others.get(number)
            if other is not None and other.end == NOWHERE:
                del self._others[number]
            elif other is not None:
                other.leaves = False
        self.least = self.least_of_others()
