"""What travels together and when: a state machine against a plain model."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mqframe.core.sending.accumulator import Accumulator

MESSAGES_MAX, BYTES_MAX, LINGER = 4, 100, 1.0


def items(batches):
    return [batch.items for batch in batches]


def accumulator():
    return Accumulator(MESSAGES_MAX, BYTES_MAX, LINGER)


def test_a_full_batch_leaves_at_once():
    gathered = accumulator()
    for number in range(5):
        gathered.add("q", number, 10, 0.0)
    assert items(gathered.take_ready()) == [[0, 1, 2, 3]]
    assert gathered.next_due() == LINGER


def test_bytes_close_a_batch_before_they_are_passed():
    gathered = accumulator()
    for number in range(3):
        gathered.add("q", number, 40, 0.0)
    assert items(gathered.take_ready()) == [[0, 1]]


def test_several_that_are_added_as_one_stay_within_the_limits():
    gathered = accumulator()
    gathered.add("q", "two", 10, 0.0, count=2)
    gathered.add("q", "one", 10, 0.0)
    batch = gathered.add("q", "more", 10, 0.0)
    assert not gathered.join(batch, "two more", 10, 2)
    gathered.add("q", "two more", 10, 0.0, count=2)
    assert items(gathered.take_ready()) == [["two", "one", "more"]]


def test_an_open_batch_leaves_after_the_linger_time():
    gathered = accumulator()
    gathered.add("q", "a", 1, 5.0)
    gathered.add("r", "b", 1, 5.5)
    gathered.close_open(now=5.9)
    assert gathered.take_ready() == []
    gathered.close_open(now=6.0)
    assert items(gathered.take_ready()) == [["a"]]
    assert gathered.next_due() == 6.5


def test_one_batch_of_a_queue_is_under_way_at_a_time():
    gathered = accumulator()
    for number in range(8):
        gathered.add("q", number, 1, 0.0)
    (first,) = gathered.take_ready()
    assert gathered.take_ready() == []
    gathered.done(first)
    assert items(gathered.take_ready()) == [[4, 5, 6, 7]]


def test_what_travels_alone_keeps_its_place():
    gathered = accumulator()
    for name, alone in (("a", False), ("big", True), ("b", False)):
        gathered.add("q", name, 1, 0.0, alone=alone)
    gathered.close_open()
    seen = []
    while not gathered.empty:
        for batch in gathered.take_ready():
            seen.append(batch.items)
            gathered.done(batch)
    assert seen == [["a"], ["big"], ["b"]]


class Gathering(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.gathered = accumulator()
        self.now = 0.0
        self.number = 0
        self.added = {}
        self.sent = {}
        self.under_way = {}

    @rule(queue=st.sampled_from("xyz"), size=st.integers(1, 150), alone=st.booleans())
    def add(self, queue, size, alone):
        batch = self.gathered.add(queue, (self.number, size, alone), size, self.now, alone=alone)
        assert batch.queue == queue
        self.added.setdefault(queue, []).append(self.number)
        self.number += 1

    @rule(seconds=st.floats(0, 2))
    def wait(self, seconds):
        self.now += seconds
        self.gathered.close_open(now=self.now)
        due = self.gathered.next_due()
        assert due is None or due > self.now

    @rule()
    def take(self):
        for batch in self.gathered.take_ready():
            assert batch.queue not in self.under_way
            assert 1 <= len(batch.items) <= MESSAGES_MAX
            sizes = [size for _, size, _ in batch.items]
            assert batch.bytes == sum(sizes)
            assert len(sizes) == 1 or sum(sizes) <= BYTES_MAX
            assert len(sizes) == 1 or not any(alone for _, _, alone in batch.items)
            self.under_way[batch.queue] = batch
            self.sent.setdefault(batch.queue, []).extend(number for number, _, _ in batch.items)

    @rule(queue=st.sampled_from("xyz"))
    def finish(self, queue):
        batch = self.under_way.pop(queue, None)
        if batch is not None:
            self.gathered.done(batch)

    @invariant()
    def order_is_kept(self):
        for queue, sent in self.sent.items():
            assert sent == self.added[queue][: len(sent)]

    def teardown(self):
        for _ in range(self.number + 1):
            self.gathered.close_open()
            self.take()
            for queue in list(self.under_way):
                self.finish(queue)
        assert self.gathered.empty
        assert self.sent == self.added


TestGathering = Gathering.TestCase
TestGathering.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
