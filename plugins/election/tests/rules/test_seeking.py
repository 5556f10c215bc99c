"""What a broker that does not lead makes of a look at its group."""

from __future__ import annotations

from election.traces import LIMITS, note
from mqframe_election.rules.group import GroupState, GroupView, ReplicaNote
from mqframe_election.rules.lease import Lease, LeaseTimes
from mqframe_election.rules.seeking import ClaimChoice, Seeking

STATE = GroupState(4, 3, (1, 2, 3))


def view(*notes: ReplicaNote, state: GroupState | None = STATE) -> GroupView:
    return GroupView(state, 7, None, {each.id: each for each in notes}, {})


def lease(sent: float = 0.0) -> Lease:
    return Lease(LeaseTimes(5, 1.5, 1), sent)


def test_who_followed_says_where_its_log_ends_once_for_each_epoch_that_ended() -> None:
    seeking, seen = Seeking(1, LIMITS), view(note(1, 100, ready=4))
    assert seeking.unled(seen, 0.0)
    assert seeking.ready == 0
    seeking.halted()
    assert seeking.ready == 4
    assert not seeking.unled(seen, 0.1)
    assert seeking.unled(view(note(2, 100)), 0.2)  # its own note is gone
    assert seeking.unled(view(note(1, 100), state=GroupState(5, 3, (1, 2, 3))), 0.3)
    seeking.halted()
    seeking.led()
    assert seeking.unled(seen, 0.4)


def chosen(seeking: Seeking, seen: GroupView, at: float) -> ClaimChoice:
    seeking.unled(seen, at)
    return seeking.choose(seen, lease(at), at)


def test_one_with_less_claims_when_patience_is_over_and_one_that_cannot_store_five_times_later() -> None:
    more = note(2, 900, ready=4)
    seen = view(note(1, 100, ready=4), more)
    seeking = Seeking(1, LIMITS)
    assert chosen(seeking, seen, 10.0) == ClaimChoice(again=0.25)
    assert chosen(seeking, seen, 10.9).claim is None
    claim = chosen(seeking, seen, 11.0).claim
    assert claim is not None
    assert (claim.epoch, claim.leader, claim.members) == (5, 1, (1, 2))
    seen = view(note(1, 900, ready=4, unable="its disk is full"), more)
    seeking = Seeking(1, LIMITS)
    assert chosen(seeking, seen, 10.0).claim is None
    assert chosen(seeking, seen, 14.9).claim is None
    assert chosen(seeking, seen, 15.0).claim is not None


def test_the_first_leader_waits_for_others_and_twice_as_long_with_less_than_they_have() -> None:
    for end, seconds in ((900, 5.0), (100, 10.0)):
        seeking, seen = Seeking(1, LIMITS), view(note(1, end), note(2, 500), state=None)
        assert chosen(seeking, seen, 10.0).claim is None
        assert chosen(seeking, seen, 10.0 + seconds - 0.1).claim is None
        assert chosen(seeking, seen, 10.0 + seconds).claim is not None


def test_patience_counts_up_to_the_first_look_of_a_turn_not_to_its_last() -> None:
    seeking, seen = Seeking(1, LIMITS), view(note(1, 100, ready=4), note(2, 900, ready=4))
    seeking.unled(seen, 10.0)
    assert seeking.choose(seen, lease(10.0), 12.0).claim is None


def test_nothing_is_claimed_by_a_lease_that_was_not_renewed_or_by_who_may_not() -> None:
    seeking, seen = Seeking(1, LIMITS), view(note(1, 100, ready=4))
    seeking.unled(seen, 0.0)
    assert seeking.choose(seen, lease(), 3.9).claim is not None
    late = seeking.choose(seen, lease(), 4.0)
    assert late.claim is None
    assert "did not renew the lease" in late.why
    outside = seeking.choose(view(note(1, 100), state=GroupState(4, 3, (3,))), lease(), 0.0)
    assert "broker 3 is not there" in outside.why
