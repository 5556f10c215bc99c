"""Who may claim to lead."""

from __future__ import annotations

import msgspec
import pytest
from mqframe_election.rules.claiming import Candidate, candidate, forced, forcing
from mqframe_election.rules.group import GroupState, GroupView, LeaderNote, ReplicaNote

from mqframe.core.errors import FixError

STATE = GroupState(epoch=4, leader=1, members=(1, 2, 3), confirmed=300)


def replica(number: int, end: int, *, epoch: int = 4, ready: int = 4, is_clean: bool = True) -> ReplicaNote:
    return ReplicaNote(number, epoch, end, 300, ready, is_clean, f"s{number}", f"h{number}:1", f"h{number}:2")


def claims(me: int, state: GroupState | None, *notes: ReplicaNote, members_min: int = 1) -> Candidate:
    return candidate(me, state, {note.id: note for note in notes}, members_min)


def test_the_one_with_most_of_the_log_claims_at_once_and_the_others_leave_it_time() -> None:
    notes = replica(2, 400), replica(3, 350)
    assert claims(2, STATE, *notes) == Candidate(
        GroupState(epoch=5, leader=2, members=(2, 3), confirmed=300, known=(1, 2, 3)), at_once=True
    )
    assert claims(3, STATE, *notes) == Candidate(
        GroupState(epoch=5, leader=3, members=(2, 3), confirmed=300, known=(1, 2, 3)), at_once=False
    )


def test_a_newer_epoch_counts_more_than_a_longer_log_and_of_equals_the_lower_number() -> None:
    notes = replica(2, 400, epoch=3), replica(3, 350)
    assert not claims(2, STATE, *notes).at_once
    assert claims(3, STATE, *notes).at_once
    equals = replica(2, 400), replica(3, 400)
    assert (claims(2, STATE, *equals).at_once, claims(3, STATE, *equals).at_once) == (True, False)


def test_nobody_claims_at_once_while_a_member_may_still_get_more_from_the_last_leader() -> None:
    assert not claims(2, STATE, replica(2, 400), replica(3, 350, ready=3)).at_once


def test_the_one_for_which_the_lead_was_given_up_claims_first_though_others_are_not_ready() -> None:
    state = STATE.preferring(3)
    notes = replica(2, 400, ready=3), replica(3, 350)
    found = claims(3, state, *notes)
    assert found.at_once
    assert found.state is not None
    assert (found.state.members, found.state.preferred) == ((2, 3), 0)
    assert not claims(2, state, *notes).at_once


def test_one_who_is_gone_or_cannot_store_is_waited_for_by_nobody() -> None:
    state = STATE.preferring(1)
    assert claims(2, state, replica(2, 400), replica(3, 350)).at_once
    full = msgspec.structs.replace(replica(1, 400), unable="the disk is full")
    assert claims(2, state, full, replica(2, 400), replica(3, 350)).at_once
    unclean = replica(1, 400, is_clean=False)
    assert claims(2, state, unclean, replica(2, 400), replica(3, 350)).at_once


def test_a_broker_outside_of_the_set_waits_and_is_told_for_whom() -> None:
    state = GroupState(epoch=4, leader=1, members=(1, 3), confirmed=300)
    found = claims(2, state, replica(2, 900))
    assert found.state is None
    assert "broker 1, 3 is not there" in found.why
    assert "force an election" in found.why
    found = claims(2, state, replica(1, 1, is_clean=False), replica(2, 900), replica(3, 5, is_clean=False))
    assert found.state is None
    assert "broker 1, 3 may have lost the end of its log" in found.why


def test_a_broker_whose_machine_failed_does_not_lead_and_is_not_in_the_new_set() -> None:
    notes = replica(2, 400), replica(3, 450, is_clean=False)
    assert claims(3, STATE, *notes).state is None
    won = claims(2, STATE, *notes)
    assert won.state is not None
    assert (won.state.members, won.at_once) == ((2,), True)


def test_the_new_set_never_gets_smaller_than_the_least() -> None:
    won = claims(2, STATE, replica(2, 400), members_min=2)
    assert won.state is not None
    assert won.state.members == (1, 2, 3)


def test_the_new_epoch_is_above_all_that_anybody_knows_even_when_the_engine_was_emptied() -> None:
    won = claims(1, None, replica(1, 10, epoch=9), replica(2, 5, epoch=12))
    assert won.state is not None
    assert (won.state.epoch, won.state.members) == (13, (1,))
    assert not won.at_once  # 2 knows a newer epoch


def test_what_was_confirmed_is_carried_over() -> None:
    mine = replica(2, 900)
    won = claims(2, GroupState(epoch=4, leader=1, members=(2,), confirmed=800, note="forced once"), mine)
    assert won.state is not None
    assert (won.state.confirmed, won.state.note) == (800, "forced once")


def test_an_operators_word_makes_one_broker_the_whole_set_and_is_kept() -> None:
    state = forced(STATE, 3, "bytes 250 to 300 given up")
    all_three = (1, 2, 3)
    assert state == GroupState(4, 1, (3,), 300, "bytes 250 to 300 given up", forced_epoch=5, known=all_three)
    won = claims(3, state, replica(3, 250), replica(2, 400)).state
    assert won == GroupState(5, 3, (3,), 250, "bytes 250 to 300 given up", forced_epoch=5, known=all_three)
    later = claims(3, won, replica(3, 280, epoch=5)).state
    assert later is not None
    assert (later.confirmed, later.forced_epoch) == (300, 5)  # as far as this broker was told
    assert claims(2, state, replica(3, 250), replica(2, 400)).state is None


def test_a_failure_of_machines_before_there_was_a_leader_keeps_nobody_from_leading() -> None:
    new = ReplicaNote(2, 0, 0, 0, 0, False, "s2", "h2:1", "h2:2")
    found = claims(2, None, new)
    assert found.state is not None
    assert found.state.members == (2,)
    assert claims(2, None, replica(2, 400, is_clean=False)).state is None  # an engine that was emptied


def test_who_can_store_claims_before_those_with_more_of_the_log_who_cannot() -> None:
    full = msgspec.structs.replace(replica(2, 400), unable="the disk is full")
    notes = full, replica(3, 350)
    assert claims(3, STATE, *notes).at_once
    found = claims(2, STATE, *notes)
    assert (found.at_once, found.is_last) == (False, True)
    assert found.state is not None
    assert found.state.members == (2, 3)


def test_one_that_cannot_store_claims_as_usual_where_nobody_can() -> None:
    full = [msgspec.structs.replace(replica(each, 400), unable="the disk is full") for each in (2, 3)]
    assert claims(2, STATE, *full)[1:] == (True, "", False)
    assert claims(3, STATE, *full)[1:] == (False, "", False)


def test_the_first_leader_of_a_group_is_the_one_with_most_whether_it_can_store_or_not() -> None:
    full = msgspec.structs.replace(replica(2, 400, epoch=0, ready=0), unable="the disk is full", confirmed=0)
    less = msgspec.structs.replace(replica(3, 350, epoch=0, ready=0), confirmed=0)
    assert claims(2, None, full, less).at_once
    assert not claims(3, None, full, less).at_once


def test_what_an_operator_forces_says_what_may_be_lost() -> None:
    before, after = forcing(4, GroupView(STATE, 9, None, {}, {}), replica(4, 250))
    assert before == STATE
    assert (after.members, after.forced_epoch, after.known) == ((4,), 5, (1, 2, 3, 4))
    assert after.note == (
        "broker 4, whose log ended at 250, was forced to lead after epoch 4: 300 was confirmed at least, and"
        " broker 1, 2, 3 had it"
    )
    unclean = forcing(1, GroupView(STATE, 9, None, {}, {}), replica(1, 250, is_clean=False))
    assert unclean[1].members == (1,)


def test_nobody_is_forced_where_somebody_leads_or_will_without_force() -> None:
    leader = LeaderNote(2, 4, "h2:1", "h2:2", "word")
    with pytest.raises(FixError, match="broker 2 leads in epoch 4: force nobody"):
        forcing(4, GroupView(STATE, 9, leader, {}, {}), replica(4, 250))
    with pytest.raises(FixError, match="never had a leader; it takes who has most"):
        forcing(4, GroupView(None, 0, None, {}, {}), replica(4, 250))
    with pytest.raises(
        FixError, match="broker 1 was in sync when epoch 4 ended, it is elected without force"
    ):
        forcing(1, GroupView(STATE, 9, None, {}, {}), replica(1, 250))
