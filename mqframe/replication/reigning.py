"""What an elector and its broker tell each other."""

from __future__ import annotations

from typing import Protocol

import attrs

from mqframe.core.election.group import GroupState, LeaderNote, ReplicaNote
from mqframe.core.election.lease import Lease
from mqframe.core.election.sync_set import SyncSet


@attrs.frozen
class ElectionLimits:
    """Seconds. `lease`: asked of the engine; `patience`: how long one who has less of the log than others
    leaves them the first claim; `first`: how long the first leader of a group waits for other brokers."""

    lease: float
    renew: float
    margin: float
    patience: float
    first: float
    members_min: int


@attrs.frozen
class Reigning:
    """A reign of this broker: what was claimed, the version of that, and the lease that it stands on."""

    state: GroupState
    version: int
    lease: Lease


class Replica(Protocol):
    """What a broker does when it, or another one, leads. Calls come one at a time, and are waited for."""

    def note(self, ready: int) -> ReplicaNote:
        """What it says of itself; `ready`: up to which epoch it follows nobody any more."""

    def unable_now(self) -> str:
        """Why it cannot store at the moment, a sentence; empty: it can."""

    async def lead(self, reigning: Reigning) -> SyncSet:
        """Lead. Returns once the log is open for it; the set to look after. Raises what prevents it."""

    async def follow(self, leader: LeaderNote | None, epoch: int) -> None:
        """Follow `leader`, who leads in `epoch`; `None`: nobody for now, and acknowledge nothing."""

    def stop_storing(self) -> None:
        """Its reign is over: store, acknowledge and confirm nothing more, from now on."""

    def left_set(self) -> None:
        """The recorded set is without this broker: nobody counts on what it acknowledged."""
