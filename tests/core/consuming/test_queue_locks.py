from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.consuming.queue_locks import (
    LEASE_SECONDS,
    LeaseState,
    LockLease,
    LockTimes,
    QueueLocks,
)
from mqframe.core.messages.message import MessageQueue

QUEUES = [MessageQueue("t", "b", number) for number in range(3)]


def test_a_queue_belongs_to_one_member_until_its_lease_ends():
    clock = ManualClock()
    locks = QueueLocks(clock)
    assert locks.lock("g", QUEUES[:2], "one") == QUEUES[:2]
    assert locks.lock("g", QUEUES, "two") == QUEUES[2:]
    assert locks.lock("other", QUEUES, "two") == QUEUES
    clock.advance(40)
    assert locks.lock("g", QUEUES[:1], "one") == QUEUES[:1]
    clock.advance(30)
    assert locks.lock("g", QUEUES, "two") == [QUEUES[1], QUEUES[2]]


def test_only_the_holder_gives_a_queue_back():
    locks = QueueLocks(ManualClock())
    locks.lock("g", QUEUES, "one")
    locks.unlock("g", QUEUES, "two")
    assert locks.lock("g", QUEUES, "two") == []
    locks.unlock("g", QUEUES[:1], "one")
    assert locks.lock("g", QUEUES, "two") == QUEUES[:1]
    locks.unlock("unknown", QUEUES, "one")


class LockMachine(RuleBasedStateMachine):
    """The locks against the plainest thing that could be right: a table of (owner, time of renewal)."""

    def __init__(self):
        super().__init__()
        self.clock = ManualClock()
        self.locks = QueueLocks(self.clock)
        self.model = {}

    def held_by(self, queue):
        owner, since = self.model.get(queue, (None, 0.0))
        return owner if owner and self.clock.monotonic() - since <= LEASE_SECONDS else None

    @rule(queues=st.sets(st.sampled_from(QUEUES)), member=st.sampled_from("abc"))
    def lock(self, queues, member):
        expected = [queue for queue in queues if self.held_by(queue) in (None, member)]
        assert self.locks.lock("g", queues, member) == expected
        for queue in expected:
            self.model[queue] = (member, self.clock.monotonic())

    @rule(queues=st.sets(st.sampled_from(QUEUES)), member=st.sampled_from("abc"))
    def unlock(self, queues, member):
        self.locks.unlock("g", queues, member)
        for queue in queues:
            if self.model.get(queue, (None, 0))[0] == member:
                del self.model[queue]

    @rule(seconds=st.integers(1, 61))
    def wait(self, seconds):
        self.clock.advance(seconds)

    @rule()
    def expire(self):
        self.locks.expire()

    @invariant()
    def knows_whether_anything_is_held(self):
        assert self.locks.any_held("g") == any(map(self.held_by, QUEUES))


TestLockMachine = LockMachine.TestCase
TestLockMachine.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)


def test_holds_for_thirty_seconds_from_the_asking() -> None:
    lease = LockLease()
    assert not lease.valid(0.0)
    assert lease.granted(10.0)
    assert lease.valid(40.0)
    assert not lease.valid(40.1)
    assert lease.granted(41.0)
    assert lease.valid(71.0)


def test_what_was_not_renewed_for_a_minute_may_have_been_anothers() -> None:
    lease = LockLease()
    assert lease.granted(0.0)
    assert lease.granted(60.0)
    assert not lease.granted(120.1)
    assert lease.state is LeaseState.LOST
    assert not lease.granted(121.0)


def test_a_member_may_be_told_other_times() -> None:
    lease = LockLease(LockTimes(lease=10.0, trusted=4.0, renewed=2.0))
    assert lease.granted(0.0)
    assert lease.valid(4.0)
    assert not lease.valid(4.1)
    assert lease.granted(10.0)
    assert not lease.granted(20.1)


@pytest.mark.parametrize(
    ("times", "fault"),
    [
        (LockTimes(), ""),
        (LockTimes(lease=10.0, trusted=10.0, renewed=2.0), "shorter time than brokers give"),
        (LockTimes(lease=60.0, trusted=20.0, renewed=20.0), "renewed before they are trusted no more"),
    ],
)
def test_times_at_which_two_members_have_a_queue_or_none_are_a_fault(times: LockTimes, fault: str) -> None:
    assert bool(times.fault) == bool(fault)
    assert fault in times.fault


def test_lost_lease_stays_lost() -> None:
    lease = LockLease()
    lease.granted(0.0)
    lease.refused()
    lease.doubted()
    assert not lease.granted(1.0)
    assert (lease.state, lease.valid(1.0)) == (LeaseState.LOST, False)


def test_doubt_stops_until_the_lock_is_confirmed() -> None:
    lease = LockLease()
    lease.doubted()
    assert lease.state is LeaseState.FREE
    lease.granted(0.0)
    lease.doubted()
    assert not lease.valid(0.1)
    assert lease.granted(1.0)
    assert lease.valid(1.1)


def test_answers_that_overtake_each_other_do_not_shorten_the_lease() -> None:
    lease = LockLease()
    lease.granted(5.0)
    lease.granted(3.0)
    assert lease.valid(35.0)


class Comparison(RuleBasedStateMachine):
    """Beside the plain history of events, read backwards for every question."""

    def __init__(self) -> None:
        super().__init__()
        self.real = LockLease()
        self.now = 0.0
        self.history: list[tuple[str, float]] = []

    @rule(seconds=st.sampled_from([1.0, 20.0, 29.0, 31.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(answer_after=st.sampled_from([0.0, 1.0]))
    def granted(self, answer_after: float) -> None:
        asked = self.now
        self.now += answer_after
        self.history.append(("granted", asked))
        assert self.real.granted(asked) is not self.lost()

    @rule(event=st.sampled_from(["refused", "doubted"]))
    def other(self, event: str) -> None:
        self.history.append((event, self.now))
        getattr(self.real, event)()

    def lost(self) -> bool:
        grants = [time for event, time in self.history if event == "granted"]
        gap = any(later - earlier > 60 for earlier, later in pairwise(grants))
        return gap or any(event == "refused" for event, _ in self.history)

    @invariant()
    def agree(self) -> None:
        last = self.history[-1] if self.history else ("", 0.0)
        good = last[0] == "granted" and self.now - last[1] <= 30 and not self.lost()
        assert self.real.valid(self.now) is good
        assert (self.real.state is LeaseState.LOST) is self.lost()


TestComparison = Comparison.TestCase
TestComparison.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
