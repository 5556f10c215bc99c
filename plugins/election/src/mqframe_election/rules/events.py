"""What happens in an election, as the `Elector` of a broker is told of it.

Three lines of calls to the engine and the broker go on beside each other: the main one, of which one call is
under way at a time; the renewal of the lease; the watch for changes of the group.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

from mqframe_election.rules.group import GroupView, ReplicaNote
from mqframe_election.rules.sync_set import SyncSet


class Moment(NamedTuple):
    """When an event is handed in, and what this broker is like then.

    `now`: seconds of a clock that never goes back; `mine`: what it says of itself, whose `ready` does not
    matter; `unable`: why it cannot store at this moment, a sentence; empty: it can.
    """

    now: float
    mine: ReplicaNote
    unable: str = ""


# Of the main line: how its call ended.


@attrs.frozen
class Started:
    """The broker takes part in elections from now on."""


@attrs.frozen
class Opened:
    """The engine has opened a lease, for so many seconds."""

    seconds: float


@attrs.frozen
class Saw:
    """The engine was read."""

    view: GroupView


@attrs.frozen
class Accepted:
    """A claim, or a change of the set, took effect, and the state has this version."""

    version: int


@attrs.frozen
class Declined:
    """A claim, or a change of the set, did not take effect and never will."""


@attrs.frozen
class Led:
    """The log of this broker is open for its term. `members`: the set to look after, which it shares."""

    members: SyncSet


@attrs.frozen
class Done:
    """Another call of the main line has done what it was for."""


@attrs.frozen
class Unanswered:
    """The engine did not answer the main line: what was asked for may have been done, or be done later."""

    problem: str


@attrs.frozen
class Failed:
    """A call of the main line has failed: the broker cannot do it, or the engine says what makes no sense."""

    problem: str


# Of the renewal of the lease.


@attrs.frozen
class Renewed:
    """The lease lives for its time, from when its renewal was sent."""


@attrs.frozen
class LeaseGone:
    """The engine has no such lease any more."""


@attrs.frozen
class Reported:
    """What this broker says of itself stands in the engine anew."""


@attrs.frozen
class NotRenewed:
    """The engine answered neither the renewal nor the report after it, whichever was under way."""

    problem: str


# Of the watch.


@attrs.frozen
class GroupChanged:
    """Something of the group may have changed since it was read last."""


@attrs.frozen
class WatchLost:
    """The engine is not there, and so tells of no change."""


# From outside, at any time.


@attrs.frozen
class Rang:
    """Acknowledgements, connections or the disk changed what this broker may have to do."""


@attrs.frozen
class Resigned:
    """This broker cannot go on as what it is."""

    problem: str


@attrs.frozen
class HandOver:
    """An operator wants the broker `to` to lead, 0: any other, and leaves `seconds` for it. An `Answer`
    follows."""

    to: int
    seconds: float


@attrs.frozen
class Looked:
    """An operator's command has read the engine."""

    view: GroupView


@attrs.frozen
class Due:
    """The time `at`, which was `Elector.due`, has come."""

    at: float


@attrs.frozen
class Stopped:
    """The broker takes part no more."""


Event = (
    Started | Opened | Saw | Accepted | Declined | Led | Done | Unanswered | Failed
    | Renewed | LeaseGone | Reported | NotRenewed | GroupChanged | WatchLost
    | Rang | Resigned | HandOver | Looked | Due | Stopped
)  # fmt: skip
