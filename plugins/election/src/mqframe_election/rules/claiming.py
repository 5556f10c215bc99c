"""Who may claim to lead, and when (election.md §3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from mqframe.core.errors import FixError
from mqframe_election.rules.group import GroupState, GroupView, ReplicaNote


class Candidate(NamedTuple):
    """Whether a broker may claim, and as what. `state`: what it would write; `None`: it has to wait, and
    `why` says for what. `at_once`: without leaving time to those who have more of the log; `is_last`: it
    leaves much time to those who can store, which it cannot."""

    state: GroupState | None
    at_once: bool = False
    why: str = ""
    is_last: bool = False


def candidate(
    me: int,
    state: GroupState | None,
    replicas: Mapping[int, ReplicaNote],
    members_min: int,
) -> Candidate:
    """What the broker `me` may claim while nobody leads; `replicas`: those that are alive, itself among them.

    Only a clean member of the set that was recorded last has all that was acknowledged. Any of these is
    safe; the one with most of the log loses least of what was not. A group that never had a leader takes the
    broker with most of the log. Of these, who can store comes first. The new set leaves out members that are
    gone, so that what they lack holds nobody up; never so many that fewer than `members_min` stay.
    """
    mine = replicas[me]
    if state is None or not state.members:
        rivals = replicas
        recorded: tuple[int, ...] = ()
    else:
        recorded = state.members
        if me not in recorded:
            return Candidate(None, why=_not_in_set(me, state, replicas))
        rivals = {number: note for number, note in replicas.items() if number in recorded and note.is_clean}
    # Where no leader ever was, neither in the engine nor in the log, nothing was acknowledged either.
    had_leader = state is not None or mine.epoch > 0 or mine.confirmed > 0
    if not mine.is_clean and had_leader:
        return Candidate(
            None,
            why="this broker's machine failed, and what it had not synced may be gone; it cannot lead before"
            " it has followed a leader",
        )
    epoch = max([note.epoch for note in replicas.values()] + [state.epoch if state else 0]) + 1
    # Where nobody can store, somebody has to lead all the same: consumers go on. And who has most counts for
    # more where nothing tells what was acknowledged.
    first = [note for note in rivals.values() if not (recorded and note.unable)] or list(rivals.values())
    best = max(first, key=lambda note: (note.epoch, note.end, -note.id))
    # Whom the last leader gave up its lead for had all of its log, and need wait for nobody.
    preferred = [note for note in first if state is not None and note.id == state.preferred]
    ready = all(note.ready >= (state.epoch if state else 0) for note in first)
    is_forced = state is not None and state.forced_epoch > mine.epoch
    claimed = GroupState(
        epoch=epoch,
        leader=me,
        members=_members(me, recorded, rivals, members_min),
        confirmed=mine.end if is_forced else max(mine.confirmed, state.confirmed if state else 0),
        note=state.note if state else "",
        forced_epoch=epoch if is_forced else state.forced_epoch if state else 0,
        known=tuple(sorted({me, *recorded, *(state.known if state else ())})),
    )
    at_once = preferred[0].id == me if preferred else ready and best.id == me
    return Candidate(claimed, at_once=at_once, is_last=mine not in first)


def _members(
    me: int, recorded: tuple[int, ...], rivals: Mapping[int, ReplicaNote], members_min: int
) -> tuple[int, ...]:
    """The set of a new term: of the recorded one those that are there; all where these are too few."""
    if not recorded:
        return (me,)
    alive = tuple(number for number in recorded if number in rivals)
    return alive if len(alive) >= members_min else recorded


def _not_in_set(me: int, state: GroupState, replicas: Mapping[int, ReplicaNote]) -> str:
    missing = [number for number in state.members if number not in replicas]
    unclean = [number for number in state.members if number in replicas and not replicas[number].is_clean]
    told = f"only {_listed(state.members)} had all that was acknowledged when epoch {state.epoch} ended"
    if missing:
        return f"{told}, and {_listed(missing)} is not there: start it, or force an election"
    if unclean:
        return f"{told}, and {_listed(unclean)} may have lost the end of its log when its machine failed"
    return f"{told}; {me} waits for it to lead"


def _listed(numbers: tuple[int, ...] | list[int]) -> str:
    return "broker " + ", ".join(map(str, numbers))


def forcing(me: int, view: GroupView, mine: ReplicaNote) -> tuple[GroupState, GroupState]:
    """The state now, and as it is once an operator has the broker `me` lead with what it has.

    `mine`: what that broker says of itself. Raises `FixError` where nobody needs to be forced.
    """
    state = view.state
    if view.leader is not None:
        raise FixError(f"broker {view.leader.id} leads in epoch {view.leader.epoch}: force nobody")
    if state is None:
        raise FixError("this group never had a leader; it takes who has most of the log by itself")
    if me in state.members and mine.is_clean:
        raise FixError(f"broker {me} was in sync when epoch {state.epoch} ended, it is elected without force")
    note = (
        f"broker {me}, whose log ended at {mine.end}, was forced to lead after epoch {state.epoch}:"
        f" {state.confirmed} was confirmed at least, and {_listed(state.members)} had it"
    )
    return state, forced(state, me, note)


def forced(state: GroupState, number: int, note: str) -> GroupState:
    """The state after an operator's word that the broker `number` is to lead with what it has."""
    made = state.with_members((number,), state.confirmed)
    return msgspec.structs.replace(made, note=note, forced_epoch=state.epoch + 1)
