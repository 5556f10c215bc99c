"""Whether a broker can store what it is sent, and when a leader that cannot leaves the lead to others.

Source: docs/spec/election.md §8. No clock, no disk: what these say is handed in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import attrs

from mqframe.core.errors import FixError
from mqframe_election.rules.group import GroupState, ReplicaNote

PROVEN_SECONDS: Final = 30.0
"""So long a disk has to be well again before others rely on it: files that are deleted at a full one make
room for a moment only."""
ABDICATION_SECONDS: Final = 60.0
"""At most once in this time a broker leaves the lead to others: where they do not take it, or not for long,
to go on is worth more than to choose again."""


@attrs.define
class Ability:
    """Of one broker to store. `why`: why others cannot count on it, a sentence; empty: they can. `now`: why
    it cannot at the moment.

    `stall_seconds`: a disk that has not answered for so long counts as one that fails.
    """

    stall_seconds: float
    why: str = ""
    now: str = ""
    _well_since: float | None = None

    def look(self, refusal: str, waiting_seconds: float, now: float) -> str:
        """Take in what the store says at `now`, seconds; `why` from now on.

        `refusal`: why it takes nothing, empty: it does. `waiting_seconds`: for how long its disk has owed an
        answer, 0 while it owes none.
        """
        if not refusal and waiting_seconds >= self.stall_seconds:
            refusal = f"the disk has not answered for more than {self.stall_seconds:g} s"
        self.now = refusal
        if refusal:
            self.why, self._well_since = refusal, None
        elif self.why:
            if self._well_since is None:
                self._well_since = now
            if now - self._well_since >= PROVEN_SECONDS:
                self.why = ""
        return self.why


def successors(
    state: GroupState, replicas: Mapping[int, ReplicaNote], keeping_up: Collection[int], members_min: int
) -> tuple[int, ...]:
    """Which members of the set could lead, and store, in the place of the leader; by number.

    None where they are fewer than `members_min`: they could take no messages either. `keeping_up`: those that
    get what the leader sends.
    """
    able = tuple(
        number
        for number in state.members
        if number != state.leader
        and number in keeping_up
        and number in replicas
        and replicas[number].is_clean
        and not replicas[number].unable
        and replicas[number].has_room
    )
    return able if len(able) >= members_min else ()


def successor(
    to: int, state: GroupState, replicas: Mapping[int, ReplicaNote], keeping_up: Collection[int]
) -> int:
    """The broker that the leader hands its lead to: `to`, or the first that may have it where that is 0.

    Raises `FixError`, which says why it may not, or why none may.
    """
    if to:
        if why := _why_not(to, state, replicas, keeping_up):
            raise FixError(f"broker {to} is not handed the lead: {why}")
        return to
    others = sorted({*state.members, *replicas} - {state.leader})
    found = {each: _why_not(each, state, replicas, keeping_up) for each in others}
    for number, why in found.items():
        if not why:
            return number
    told = "; ".join(f"broker {number}: {why}" for number, why in found.items())
    raise FixError(f"there is nobody to hand the lead to: {told or 'the leader is alone in its group'}")


def _why_not(
    number: int, state: GroupState, replicas: Mapping[int, ReplicaNote], keeping_up: Collection[int]
) -> str:
    """Why the broker `number` may not be handed the lead; empty: it may."""
    in_sync = f"in sync: {', '.join(map(str, state.members))}"
    if number == state.leader:
        return "it leads already"
    note = replicas.get(number)
    if note is None:
        known = ", ".join(map(str, sorted({*state.known, *state.members, *replicas})))
        return f"it is not there ({in_sync}; known: {known}); start it"
    if number not in state.members:
        return f"it is not in sync ({in_sync}); wait until mqframe replica status shows it so"
    if not note.is_clean:
        return "its machine failed, and it may lack what it had acknowledged"
    if note.unable or not note.has_room:
        return note.unable or "its disk has no room for the next file of the log"
    return "" if number in keeping_up else "it does not get what the leader sends at the moment"


@attrs.define
class Abdication:
    """Decides when a leader gives up its lead because it cannot store."""

    _last: float | None = None

    def is_due(self, why: str, others: Collection[int], now: float) -> bool:
        """Whether to do so at `now`, seconds. `why`: it cannot store; `others`: its `successors`."""
        if not why or not others:
            return False
        if self._last is not None and now - self._last < ABDICATION_SECONDS:
            return False
        self._last = now
        return True
