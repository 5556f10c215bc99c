"""What a broker that does not lead makes of a look at its group: whom it follows, and when it claims to lead
(election.md §3).

In two steps, for who has stopped following has to say where its log ends, and to look again:

    leader      this broker                                       then
    there       any                                               follow it
    none        follows still, or did not say where its log ends  stop that, say it, and look again
    none        is no candidate                                   wait, and say for what
    none        its lease was not renewed in time                 wait for that
    none        has most of those in sync, who are all ready      claim
    none        else, `patience` is over                          claim
    none        else                                              look again in a quarter of `patience`
"""

from __future__ import annotations

from math import inf
from typing import Final, NamedTuple

from mqframe_election.rules.claiming import Candidate, candidate
from mqframe_election.rules.group import GroupState, GroupView
from mqframe_election.rules.lease import Lease
from mqframe_election.rules.limits import LAST_SHARE, ElectionLimits

LOOKS_IN_PATIENCE: Final = 4
"""So often it looks while it leaves others the first claim."""
_LATE: Final = "the engine did not renew the lease of this broker in time; it claims nothing before that"


class ClaimChoice(NamedTuple):
    """`claim`: the state to claim; `None`: wait. `why`: what prevents a claim; empty: nothing but
    patience. `again`: after so many seconds at most it is to look again."""

    claim: GroupState | None = None
    why: str = ""
    again: float = inf


class Seeking:
    """Of the broker `me`, from the opening of a lease until that is lost.

    `ready`: up to which epoch it follows nobody any more, so that the end of its log is final.
    """

    def __init__(self, me: int, limits: ElectionLimits) -> None:
        self.ready = 0
        self._me = me
        self._limits = limits
        self._since: float | None = None
        self._looked_at = 0.0
        self._epoch = 0
        self._is_first = False

    def led(self) -> None:
        """Somebody leads."""
        self._since = None

    def unled(self, view: GroupView, now: float) -> bool:
        """Nobody leads, as a turn's first look at `now` shows. Whether this broker is to stop following, to
        say where its log ends, and to look again, before it may choose."""
        is_new = self._since is None
        if self._since is None:
            self._since = now
        self._looked_at, self._epoch, self._is_first = now, view.epoch, view.state is None
        return is_new or self.ready < view.epoch or self._me not in view.replicas

    def halted(self) -> None:
        """This broker follows nobody, since that look."""
        self.ready = self._epoch

    def choose(self, view: GroupView, lease: Lease, now: float) -> ClaimChoice:
        """What to do now; `view`: what the turn's last look showed, this broker in it. Patience counts up to
        the turn's first look."""
        found = candidate(self._me, view.state, view.replicas, self._limits.members_min)
        if found.state is None:
            return ClaimChoice(why=found.why)
        if not lease.is_trusted(now):
            return ClaimChoice(why=_LATE)
        if self._may_claim(found):
            return ClaimChoice(found.state)
        return ClaimChoice(again=self._limits.patience / LOOKS_IN_PATIENCE)

    def _may_claim(self, found: Candidate) -> bool:
        assert self._since is not None
        waited = self._looked_at - self._since
        if self._is_first:
            return waited >= self._limits.first * (1 if found.at_once else 2)
        return found.at_once or waited >= self._limits.patience * (LAST_SHARE if found.is_last else 1)
