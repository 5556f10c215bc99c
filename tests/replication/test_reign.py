"""What copies confirm of a leader's log, and of a follower's."""

from __future__ import annotations

from mqframe.core.election.group import GroupState
from mqframe.core.election.lease import Lease, LeaseTimes
from mqframe.core.election.sync_set import SetLimits
from mqframe.replication.elector import Reigning
from mqframe.replication.reign import FollowerReplicas, LeaderReplicas
from mqframe.testing.manual_clock import ManualClock


def reign(clock: ManualClock, *members: int, least: int = 1) -> LeaderReplicas:
    """That of broker 1 in epoch 3; its log ends at 100, up to 80 was confirmed."""
    lease = Lease(LeaseTimes(5, 1.5, 1), clock.monotonic())
    replicas = LeaderReplicas(
        Reigning(GroupState(3, 1, members, 80), 9, lease), clock, SetLimits(least, 5, 1), 3.0
    )
    replicas.attach(100, lambda: None)
    return replicas


def acknowledge(replicas: LeaderReplicas, number: int, end: int) -> None:
    assert replicas.members is not None
    replicas.members.joined(number, 0, is_clean=True)
    replicas.members.acknowledged(number, end, end, 0)


def test_a_leader_confirms_what_all_members_have() -> None:
    replicas = reign(ManualClock(), 1, 2, 3)
    acknowledge(replicas, 2, 120)
    assert replicas.confirmed(150) == 80
    acknowledge(replicas, 3, 110)
    assert replicas.confirmed(150) == 110
    assert replicas.members is not None
    assert replicas.members.counted_on == 110


def test_a_leader_alone_confirms_what_it_has() -> None:
    assert reign(ManualClock(), 1).confirmed(150) == 150


def test_a_leader_whose_lease_is_over_stores_and_confirms_nothing() -> None:
    clock = ManualClock()
    replicas = reign(clock, 1)
    assert replicas.confirmed(100) == 100
    clock.advance(4)  # the lease less its margin
    assert replicas.confirmed(150) == 100
    assert "no longer sure to lead in epoch 3" in str(replicas.refusal())


def test_a_reign_that_ended_confirms_nothing_more() -> None:
    replicas = reign(ManualClock(), 1)
    replicas.end()
    assert replicas.confirmed(150) == 80
    assert replicas.refusal() is not None


def test_too_few_in_sync_are_told_in_words() -> None:
    replicas = reign(ManualClock(), 1, 2, least=2)
    assert "in-sync replicas not enough" in str(replicas.refusal())
    acknowledge(replicas, 2, 100)
    assert replicas.refusal() is None


def test_a_follower_confirms_what_it_was_told_and_what_it_found_is_settled_then() -> None:
    moved: list[int] = []
    replicas = FollowerReplicas(80)
    replicas.attach(100, lambda: moved.append(1))
    assert (replicas.confirmed(100), replicas.is_settled) == (80, False)
    replicas.tell(90)
    replicas.tell(85)
    assert (replicas.confirmed(100), replicas.is_settled, len(moved)) == (90, False, 1)
    replicas.tell(120)
    assert (replicas.confirmed(100), replicas.confirmed(150), replicas.is_settled) == (100, 120, True)
