"""What copies confirm in an elected group, with a set, a lease and a clock that the test moves."""

from __future__ import annotations

import pytest
from mqframe_election.rules.group import GroupState
from mqframe_election.rules.lease import Lease, LeaseTimes
from mqframe_election.rules.replicas import FollowerReplicas, LeaderReplicas, LeadHandedOver
from mqframe_election.rules.sync_set import SetLimits, SyncSet
from mqframe_election.rules.term import LeaderTerm
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import StoreUnavailable, TooFewReplicas


class Term:
    """A term of the broker 1 in epoch 7, over a log that ended at 1000; its lease is trusted for 4 s."""

    def __init__(self, *members: int, members_min: int = 1, confirmed: int = 0) -> None:
        self.clock = ManualClock()
        now = self.clock.monotonic()
        self.lease = Lease(LeaseTimes(ttl=5, renew=1.5, margin=1), now)
        state = GroupState(epoch=7, leader=1, members=members, confirmed=confirmed)
        limits = SetLimits(members_min, lag_seconds=5, away_seconds=1)
        self.replicas = LeaderReplicas(LeaderTerm(state, 3, self.lease), self.clock, limits, 2.5)
        self.moves = 0
        self.known = self.replicas.attach(1000, self.move)

    def move(self) -> None:
        self.moves += 1

    @property
    def set(self) -> SyncSet:
        assert self.replicas.members is not None
        return self.replicas.members

    def joins(self, *numbers: int) -> None:
        for number in numbers:
            self.set.joined(number, self.clock.monotonic(), is_clean=True)

    def acknowledges(self, number: int, end: int) -> None:
        self.set.acknowledged(number, end, 2000, self.clock.monotonic())

    def goes(self, number: int) -> None:
        self.set.left(number, self.clock.monotonic())


def test_a_leader_alone_confirms_all_that_it_has_at_once() -> None:
    term = Term(1)
    assert term.replicas.confirmed(1000) == 1000
    assert term.replicas.confirmed(1500) == 1500
    assert term.replicas.refusal() is None


def test_it_knows_its_term_and_nobody_reads_before_all_that_was_found_is_confirmed() -> None:
    term = Term(1, 2, confirmed=400)
    assert (term.replicas.epoch, term.replicas.leader, term.replicas.timeout_seconds) == (7, 1, 2.5)
    assert (term.set.start, term.set.version) == (1000, 3)
    assert term.known == 1000
    assert term.replicas.confirmed(1000) == term.replicas.told() == 400


def test_nothing_is_confirmed_before_the_store_is_open() -> None:
    term = Term(1)
    lease = Lease(LeaseTimes(ttl=5, renew=1.5, margin=1), term.clock.monotonic())
    limits = SetLimits(1, lag_seconds=5, away_seconds=1)
    early = LeaderReplicas(LeaderTerm(GroupState(7, 1, (1,)), 3, lease), term.clock, limits, 1)
    assert early.confirmed(1000) == 0
    assert early.refusal() is None
    early.heard()
    assert early.attach(1000, lambda: None) == 1000
    assert early.confirmed(1000) == 1000


def test_what_is_confirmed_is_the_least_that_members_acknowledged_and_never_beyond_the_end() -> None:
    term = Term(1, 2, 3)
    term.joins(2, 3)
    term.acknowledges(2, 1400)
    assert term.replicas.confirmed(1500) == 0  # the other one has not said anything
    term.acknowledges(3, 1200)
    assert term.replicas.confirmed(1500) == 1200
    term.acknowledges(3, 1450)
    assert term.replicas.confirmed(1500) == 1400
    term.acknowledges(2, 1900)
    term.acknowledges(3, 1900)
    assert term.replicas.confirmed(1500) == 1500


def test_a_broker_outside_of_the_set_holds_nothing_up() -> None:
    term = Term(1, 2)
    term.joins(2, 3)
    term.acknowledges(2, 1400)
    term.acknowledges(3, 100)
    assert term.replicas.confirmed(1500) == 1400


def test_what_is_confirmed_never_goes_back_whoever_leaves_and_comes_again_with_less() -> None:
    term = Term(1, 2)
    term.joins(2)
    term.acknowledges(2, 1400)
    assert term.replicas.confirmed(1500) == 1400
    term.goes(2)
    assert term.replicas.confirmed(1500) == 1400
    term.joins(2)
    term.acknowledges(2, 1100)
    assert term.replicas.confirmed(1500) == 1400
    assert term.set.counted_on == term.replicas.told() == 1400
    term.acknowledges(2, 1450)
    assert term.replicas.confirmed(1500) == 1450


def test_what_was_counted_on_no_broker_that_joins_may_lack() -> None:
    term = Term(1, 2)
    term.joins(2, 3)
    term.acknowledges(2, 1400)
    term.acknowledges(3, 1300)
    assert term.set.counted_on == 0
    assert term.replicas.confirmed(1500) == 1400
    assert (term.set.counted_on, term.set.confirmed) == (1400, 0)
    assert term.set.wanted(1500, term.clock.monotonic()) is None
    term.acknowledges(3, 1400)
    wanted = term.set.wanted(1500, term.clock.monotonic())
    assert wanted is not None
    assert wanted.members == (1, 2, 3)


def test_a_leader_whose_lease_is_not_trusted_confirms_and_stores_nothing_until_it_is_renewed() -> None:
    term = Term(1)
    term.clock.advance(3.9)
    assert term.replicas.confirmed(1200) == 1200
    term.clock.advance(0.1)
    assert term.replicas.confirmed(1500) == 1200
    assert term.set.counted_on == 1200
    refusal = term.replicas.refusal()
    assert isinstance(refusal, StoreUnavailable)
    assert not isinstance(refusal, TooFewReplicas)
    assert "no longer sure to lead in epoch 7" in str(refusal)
    term.lease.renewed(term.clock.monotonic())
    assert term.replicas.refusal() is None
    assert term.replicas.confirmed(1500) == 1500


def test_a_term_that_is_over_confirms_and_stores_nothing_and_says_so_to_those_who_wait() -> None:
    term = Term(1)
    assert term.replicas.confirmed(1200) == 1200
    term.replicas.end()
    assert term.moves == 1
    assert term.lease.is_trusted(term.clock.monotonic())
    assert term.replicas.confirmed(1500) == 1200
    assert "no longer sure to lead in epoch 7" in str(term.replicas.refusal())
    term.lease.renewed(term.clock.monotonic())
    assert term.replicas.confirmed(1500) == 1200


def test_with_too_few_members_connected_sends_are_refused_in_words() -> None:
    term = Term(1, 2, 3, members_min=2)
    refusal = term.replicas.refusal()
    assert isinstance(refusal, TooFewReplicas)
    assert str(refusal).startswith("in-sync replicas not enough: replication.min_in_sync asks for 2,")
    assert "(1, 2, 3)" in str(refusal)
    term.joins(2)
    assert term.replicas.refusal() is not None  # it has not said how far it is
    term.acknowledges(2, 1000)
    assert term.replicas.refusal() is None
    term.goes(2)
    assert isinstance(term.replicas.refusal(), TooFewReplicas)
    term.clock.advance(4)
    assert "no longer sure to lead" in str(term.replicas.refusal())  # what matters more is said


@pytest.mark.parametrize("end", [0, 1000, 1 << 40])
def test_neither_a_leader_nor_a_follower_sees_trouble_in_what_is_late(end: int) -> None:
    term = Term(1, 2)
    assert term.replicas.trouble(end) is None
    assert FollowerReplicas(0).trouble(end) is None


def test_those_who_wait_are_told_when_members_were_heard() -> None:
    term = Term(1, 2)
    assert term.moves == 0
    term.replicas.heard()
    assert term.moves == 1


def test_a_follower_confirms_what_it_was_told_and_never_beyond_its_end() -> None:
    replicas, moves = FollowerReplicas(400), [0]
    assert replicas.attach(1000, lambda: moves.append(replicas.told)) == 1000
    assert replicas.confirmed(1000) == 400
    replicas.tell(1500)
    assert replicas.confirmed(1000) == 1000
    assert replicas.confirmed(1600) == 1500
    assert moves == [0, 1500]
    assert replicas.refusal() is None


def test_what_a_follower_was_told_never_goes_back_and_tells_nobody_twice() -> None:
    replicas, moves = FollowerReplicas(400), [0]
    replicas.attach(1000, lambda: moves.append(replicas.told))
    for told in (300, 400, 700, 700, 500, 0):
        replicas.tell(told)
    assert (replicas.told, replicas.confirmed(1000)) == (700, 700)
    assert moves == [0, 700]


def test_a_follower_whose_store_is_not_open_yet_takes_in_what_it_is_told() -> None:
    replicas = FollowerReplicas(0)
    replicas.tell(600)
    assert replicas.attach(1000, lambda: None) == 1000
    assert replicas.confirmed(1000) == 600


def test_a_leader_that_hands_over_takes_nothing_and_goes_on_to_confirm_what_it_has() -> None:
    term = Term(1, 2)
    term.joins(2)
    term.replicas.heir = 2
    refusal = term.replicas.refusal()
    assert isinstance(refusal, LeadHandedOver)
    assert not refusal.ends_waits
    assert "hands over its lead to broker 2" in str(refusal)
    term.acknowledges(2, 1500)
    assert term.replicas.confirmed(1500) == 1500
    term.replicas.heir = 0
    assert term.replicas.refusal() is None
