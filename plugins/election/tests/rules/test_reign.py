"""What copies confirm in an elected group, with a set, a lease and a clock that the test moves."""

from __future__ import annotations

import pytest
from mqframe_election.rules.group import GroupState
from mqframe_election.rules.lease import Lease, LeaseTimes
from mqframe_election.rules.reign import FollowerReplicas, LeaderReplicas
from mqframe_election.rules.sync_set import SetLimits, SyncSet
from mqframe_election.rules.term import LeaderTerm
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import StoreUnavailable, TooFewReplicas


class Reign:
    """A reign of the broker 1 in epoch 7, over a log that ended at 1000; its lease is trusted for 4 s."""

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
    reign = Reign(1)
    assert reign.replicas.confirmed(1000) == 1000
    assert reign.replicas.confirmed(1500) == 1500
    assert reign.replicas.refusal() is None


def test_it_knows_its_reign_and_nobody_reads_before_all_that_was_found_is_confirmed() -> None:
    reign = Reign(1, 2, confirmed=400)
    assert (reign.replicas.epoch, reign.replicas.leader, reign.replicas.timeout_seconds) == (7, 1, 2.5)
    assert (reign.set.start, reign.set.version) == (1000, 3)
    assert reign.known == 1000
    assert reign.replicas.confirmed(1000) == reign.replicas.told() == 400


def test_nothing_is_confirmed_before_the_store_is_open() -> None:
    reign = Reign(1)
    lease = Lease(LeaseTimes(ttl=5, renew=1.5, margin=1), reign.clock.monotonic())
    limits = SetLimits(1, lag_seconds=5, away_seconds=1)
    early = LeaderReplicas(LeaderTerm(GroupState(7, 1, (1,)), 3, lease), reign.clock, limits, 1)
    assert early.confirmed(1000) == 0
    assert early.refusal() is None
    early.heard()
    assert early.attach(1000, lambda: None) == 1000
    assert early.confirmed(1000) == 1000


def test_what_is_confirmed_is_the_least_that_members_acknowledged_and_never_beyond_the_end() -> None:
    reign = Reign(1, 2, 3)
    reign.joins(2, 3)
    reign.acknowledges(2, 1400)
    assert reign.replicas.confirmed(1500) == 0  # the other one has not said anything
    reign.acknowledges(3, 1200)
    assert reign.replicas.confirmed(1500) == 1200
    reign.acknowledges(3, 1450)
    assert reign.replicas.confirmed(1500) == 1400
    reign.acknowledges(2, 1900)
    reign.acknowledges(3, 1900)
    assert reign.replicas.confirmed(1500) == 1500


def test_a_broker_outside_of_the_set_holds_nothing_up() -> None:
    reign = Reign(1, 2)
    reign.joins(2, 3)
    reign.acknowledges(2, 1400)
    reign.acknowledges(3, 100)
    assert reign.replicas.confirmed(1500) == 1400


def test_what_is_confirmed_never_goes_back_whoever_leaves_and_comes_again_with_less() -> None:
    reign = Reign(1, 2)
    reign.joins(2)
    reign.acknowledges(2, 1400)
    assert reign.replicas.confirmed(1500) == 1400
    reign.goes(2)
    assert reign.replicas.confirmed(1500) == 1400
    reign.joins(2)
    reign.acknowledges(2, 1100)
    assert reign.replicas.confirmed(1500) == 1400
    assert reign.set.counted_on == reign.replicas.told() == 1400
    reign.acknowledges(2, 1450)
    assert reign.replicas.confirmed(1500) == 1450


def test_what_was_counted_on_no_broker_that_joins_may_lack() -> None:
    reign = Reign(1, 2)
    reign.joins(2, 3)
    reign.acknowledges(2, 1400)
    reign.acknowledges(3, 1300)
    assert reign.set.counted_on == 0
    assert reign.replicas.confirmed(1500) == 1400
    assert (reign.set.counted_on, reign.set.confirmed) == (1400, 0)
    assert reign.set.wanted(1500, reign.clock.monotonic()) is None
    reign.acknowledges(3, 1400)
    wanted = reign.set.wanted(1500, reign.clock.monotonic())
    assert wanted is not None
    assert wanted.members == (1, 2, 3)


def test_a_leader_whose_lease_is_not_trusted_confirms_and_stores_nothing_until_it_is_renewed() -> None:
    reign = Reign(1)
    reign.clock.advance(3.9)
    assert reign.replicas.confirmed(1200) == 1200
    reign.clock.advance(0.1)
    assert reign.replicas.confirmed(1500) == 1200
    assert reign.set.counted_on == 1200
    refusal = reign.replicas.refusal()
    assert isinstance(refusal, StoreUnavailable)
    assert not isinstance(refusal, TooFewReplicas)
    assert "no longer sure to lead in epoch 7" in str(refusal)
    reign.lease.renewed(reign.clock.monotonic())
    assert reign.replicas.refusal() is None
    assert reign.replicas.confirmed(1500) == 1500


def test_a_reign_that_is_over_confirms_and_stores_nothing_and_says_so_to_those_who_wait() -> None:
    reign = Reign(1)
    assert reign.replicas.confirmed(1200) == 1200
    reign.replicas.end()
    assert reign.moves == 1
    assert reign.lease.is_trusted(reign.clock.monotonic())
    assert reign.replicas.confirmed(1500) == 1200
    assert "no longer sure to lead in epoch 7" in str(reign.replicas.refusal())
    reign.lease.renewed(reign.clock.monotonic())
    assert reign.replicas.confirmed(1500) == 1200


def test_with_too_few_members_connected_sends_are_refused_in_words() -> None:
    reign = Reign(1, 2, 3, members_min=2)
    refusal = reign.replicas.refusal()
    assert isinstance(refusal, TooFewReplicas)
    assert str(refusal).startswith("in-sync replicas not enough: replication.min_in_sync asks for 2,")
    assert "(1, 2, 3)" in str(refusal)
    reign.joins(2)
    assert reign.replicas.refusal() is not None  # it has not said how far it is
    reign.acknowledges(2, 1000)
    assert reign.replicas.refusal() is None
    reign.goes(2)
    assert isinstance(reign.replicas.refusal(), TooFewReplicas)
    reign.clock.advance(4)
    assert "no longer sure to lead" in str(reign.replicas.refusal())  # what matters more is said


@pytest.mark.parametrize("end", [0, 1000, 1 << 40])
def test_neither_a_leader_nor_a_follower_sees_trouble_in_what_is_late(end: int) -> None:
    reign = Reign(1, 2)
    assert reign.replicas.trouble(end) is None
    assert FollowerReplicas(0).trouble(end) is None


def test_those_who_wait_are_told_when_members_were_heard() -> None:
    reign = Reign(1, 2)
    assert reign.moves == 0
    reign.replicas.heard()
    assert reign.moves == 1


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
