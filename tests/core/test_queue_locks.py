from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mqframe.core.message import MessageQueue
from mqframe.core.queue_locks import LEASE_SECONDS, QueueLocks
from mqframe.testing.manual_clock import ManualClock

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
