"""Whether a broker can store, and when a leader that cannot leaves the lead to others."""

from __future__ import annotations

import pytest
from mqframe_election.rules.ability import (
    ABDICATION_SECONDS,
    PROVEN_SECONDS,
    Abdication,
    Ability,
    successor,
    successors,
)
from mqframe_election.rules.group import GroupState, ReplicaNote

from mqframe.core.errors import FixError

STATE = GroupState(epoch=4, leader=1, members=(1, 2, 3), confirmed=300)


def notes(*, unable: int = 0, short: int = 0, unclean: int = 0) -> dict[int, ReplicaNote]:
    return {
        number: ReplicaNote(
            number, 4, 300, 300, 4, number != unclean, f"s{number}", "", "",
            "the disk is full" if number == unable else "", number != short,
        )
        for number in (1, 2, 3)
    }  # fmt: skip


def test_a_disk_that_is_full_counts_at_once_and_room_only_after_it_has_lasted() -> None:
    ability = Ability(stall_seconds=5)
    assert ability.look("", 0, 0) == ""
    assert ability.look("the disk is full", 0, 1) == "the disk is full"
    assert ability.look("", 0, 2) == "the disk is full"
    assert ability.now == ""
    assert ability.look("the disk is full", 0, 20) == "the disk is full"  # it was for a moment only
    assert ability.look("", 0, 21) == "the disk is full"
    assert ability.look("", 0, 20.9 + PROVEN_SECONDS) == "the disk is full"
    assert ability.look("", 0, 21 + PROVEN_SECONDS) == ""


def test_a_disk_that_does_not_answer_for_long_counts_as_one_that_fails() -> None:
    ability = Ability(stall_seconds=5)
    assert ability.look("", 4.9, 10) == ""
    assert ability.look("", 5, 10.1) == "the disk has not answered for more than 5 s"


def test_successors_are_those_in_sync_that_keep_up_are_clean_and_can_store() -> None:
    assert successors(STATE, notes(), (2, 3), 1) == (2, 3)
    assert successors(STATE, notes(unable=2), (2, 3), 1) == (3,)
    assert successors(STATE, notes(short=3), (2, 3), 1) == (2,)
    assert successors(STATE, notes(unclean=2), (2, 3), 1) == (3,)
    assert successors(STATE, notes(), (3,), 1) == (3,)
    assert successors(GroupState(4, 1, (1, 2), 300), notes(), (2, 3), 1) == (2,)
    assert successors(STATE, {3: notes()[3]}, (2, 3), 1) == (3,)  # 2 is not there


@pytest.mark.parametrize(("keeping_up", "found"), [((2, 3), (2, 3)), ((2,), ())])
def test_fewer_successors_than_have_to_be_in_sync_are_none(
    keeping_up: tuple[int, ...], found: tuple[int, ...]
) -> None:
    assert successors(STATE, notes(), keeping_up, 2) == found


def test_a_leader_abdicates_for_others_only_and_not_again_and_again() -> None:
    abdication = Abdication()
    assert not abdication.is_due("", (2,), 0)
    assert not abdication.is_due("the disk is full", (), 0)
    assert abdication.is_due("the disk is full", (2,), 1)
    assert not abdication.is_due("the disk is full", (2,), ABDICATION_SECONDS)
    assert abdication.is_due("the disk is full", (2,), 1 + ABDICATION_SECONDS)


def test_the_lead_goes_to_whom_an_operator_names_or_to_the_first_that_may_have_it() -> None:
    assert successor(3, STATE, notes(), (2, 3)) == 3
    assert successor(0, STATE, notes(), (2, 3)) == 2
    assert successor(0, STATE, notes(unable=2), (2, 3)) == 3


@pytest.mark.parametrize(
    ("to", "state", "found", "keeping_up", "why"),
    [
        (1, STATE, notes(), (2, 3), "broker 1 is not handed the lead: it leads already"),
        (7, STATE, notes(), (2, 3), r"it is not there \(in sync: 1, 2, 3; known: 1, 2, 3\); start it"),
        (3, GroupState(4, 1, (1, 2)), notes(), (2,), r"it is not in sync \(in sync: 1, 2\); wait until"),
        (3, STATE, notes(unclean=3), (2, 3), "its machine failed, and it may lack what it had"),
        (3, STATE, notes(unable=3), (2, 3), "broker 3 is not handed the lead: the disk is full"),
        (3, STATE, notes(short=3), (2, 3), "its disk has no room for the next file of the log"),
        (3, STATE, notes(), (2,), "it does not get what the leader sends at the moment"),
        (
            0,
            STATE,
            notes(unable=2),
            (2,),
            "nobody to hand the lead to: broker 2: the disk is full; broker 3: it",
        ),
        (0, GroupState(4, 1, (1,)), {1: notes()[1]}, (), "the leader is alone in its group"),
    ],
)
def test_who_may_not_lead_is_refused_by_name(
    to: int, state: GroupState, found: dict[int, ReplicaNote], keeping_up: tuple[int, ...], why: str
) -> None:
    with pytest.raises(FixError, match=why):
        successor(to, state, found, keeping_up)
