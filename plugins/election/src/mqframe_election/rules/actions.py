"""What an `Elector` has its shell do.

The main line has one call under way at a time, and is told how each ended; so is each of the two lines beside
it. The others are done at once, in their order, before the call that follows them; where one of those fails,
that call has failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from mqframe_election.rules.group import GroupState, LeaderNote, ReplicaNote
from mqframe_election.rules.term import LeaderTerm

# Calls of the main line.


@attrs.frozen
class Open:
    """Open a lease of at least so many seconds at the engine."""

    seconds: float


@attrs.frozen
class Read:
    """Read what the engine holds."""


@attrs.frozen
class Announce:
    """Enter what this broker says of itself at the engine."""

    note: ReplicaNote


@attrs.frozen
class Claim:
    """Become the leader of `state`, where nobody leads and the state's version is `version` still."""

    state: GroupState
    leader: LeaderNote
    version: int


@attrs.frozen
class Change:
    """Have the set changed, as the leader, where the state's version is `version` still."""

    state: GroupState
    version: int


@attrs.frozen
class StepDown:
    """Take this broker's claim away."""


@attrs.frozen
class Leave:
    """Give up claim and lease, so that others may lead at once; where the engine does not answer, the lease
    runs out."""


@attrs.frozen
class Lead:
    """Have the broker lead."""

    term: LeaderTerm


@attrs.frozen
class Follow:
    """Have the broker follow `leader`, who leads in `epoch`; `None`: nobody, and acknowledge nothing."""

    leader: LeaderNote | None
    epoch: int


# Calls beside it.


@attrs.frozen
class Renew:
    """Renew the lease."""


@attrs.frozen
class Report:
    """As `Announce`, after a renewal."""

    note: ReplicaNote


@attrs.frozen
class Watch:
    """Wait until something of the group changes."""


# What is done at once.


@attrs.frozen
class EndCalls:
    """End the calls beside the main line; nobody wants to know how they end."""


@attrs.frozen
class StopStoring:
    """Have the broker store, acknowledge and confirm nothing more of its term."""


@attrs.frozen
class StopTaking:
    """Have the broker take no messages, and confirm what it has: the broker `to` is to lead next."""

    to: int


@attrs.frozen
class TakeAgain:
    """Have the broker take messages again, as before `StopTaking`."""


@attrs.frozen
class Answer:
    """Tell who had the lead handed over how that ended. `problem`: why it stays; empty: the lead is given up
    for the broker `to`."""

    problem: str
    to: int = 0


@attrs.frozen
class LeftSet:
    """Tell the broker that the recorded set is without it: nobody counts on what it acknowledged."""


@attrs.frozen
class Log:
    """Log `event` with `values`."""

    level: Literal["info", "warning", "error"]
    event: str
    values: Mapping[str, Any]


@attrs.frozen
class ShowTrouble:
    """Say why the group cannot be looked after; empty: it can again."""

    problem: str


EngineCall = Open | Read | Announce | Claim | Change | StepDown | Leave
MainAction = EngineCall | Lead | Follow
SideAction = Renew | Report | Watch
AtOnce = EndCalls | StopStoring | StopTaking | TakeAgain | Answer | LeftSet | Log | ShowTrouble
Action = MainAction | SideAction | AtOnce
