"""What a consumer holds of one queue: the table in the module, checked against a plain model."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mqframe.core.consuming.process_queue import HeldPlace, ProcessQueue
from mqframe.core.messages.message import MessageQueue, ReceivedMessage

QUEUE = MessageQueue("orders", "broker-a", 0)
HOST = bytes((127, 0, 0, 1, 0, 0, 0, 1))


def message(offset: int, size: int = 100) -> ReceivedMessage:
    return ReceivedMessage(
        "orders", 0, offset, offset * size, size, 0, 0, HOST, HOST, 0, 0, 0, 0, 0, b"x", b"", "broker-a"
    )


def messages(*offsets: int) -> list[ReceivedMessage]:
    return [message(offset) for offset in offsets]


def offsets(taken: list[ReceivedMessage]) -> list[int]:
    return [each.queue_offset for each in taken]


def queue_with(*held: int) -> ProcessQueue:
    queue = ProcessQueue(QUEUE, 0.0)
    queue.put(messages(*held))
    return queue


class TestCommit:
    def test_smallest_still_held_may_be_committed(self) -> None:
        queue = queue_with(5, 6, 7, 8)
        queue.take(4)
        assert queue.remove(messages(6, 8)) == 5
        assert queue.remove(messages(5)) == 7

    def test_one_past_the_largest_when_empty(self) -> None:
        queue = queue_with(5, 9)
        queue.take(2)
        assert queue.remove(messages(5, 9)) == 10

    def test_nothing_to_commit_when_nothing_was_held(self) -> None:
        queue = queue_with(1)
        queue.take(1)
        queue.remove(messages(1))
        assert queue.remove(messages(1)) is None

    def test_failed_message_holds_the_offset_back(self) -> None:
        queue = queue_with(0, 1, 2)
        queue.take(3)
        assert queue.remove(messages(1, 2)) == 0
        assert queue.put_back(messages(0)) == 1
        assert offsets(queue.take(3)) == [0]
        assert queue.remove(messages(0)) == 3

    def test_what_a_filter_dropped_behind_the_last_message_goes_with_it(self) -> None:
        queue = queue_with(5, 6)
        queue.passed(9)
        assert queue.remove(messages(6)) == 5, "a message before it is still held"
        assert queue.remove(messages(5)) == 9
        queue.put(messages(9))
        queue.passed(10)
        assert offsets(queue.take(2)) == [9]
        assert queue.remove(messages(9)) == 10


class TestTake:
    def test_in_the_order_of_offsets(self) -> None:
        queue = queue_with(3, 4, 5)
        assert offsets(queue.take(2)) == [3, 4]
        assert offsets(queue.take(2)) == [5]
        assert queue.take(1) == []

    def test_put_back_comes_before_what_is_later(self) -> None:
        queue = queue_with(3, 4, 5)
        first = queue.take(1)
        queue.put_back(first)
        assert offsets(queue.take(3)) == [3, 4, 5]

    def test_rolled_back_it_begins_anew_at_the_smallest_offset(self) -> None:
        queue = queue_with(3, 4, 5, 6, 7)
        queue.remove(queue.take(1))
        queue.take(2)
        assert queue.roll_back() == 2
        assert offsets(queue.take(9)) == [4, 5, 6, 7]

    def test_double_put_is_taken_once(self) -> None:
        queue = queue_with(3, 4)
        assert queue.put(messages(4, 5)) == 1
        assert offsets(queue.take(9)) == [3, 4, 5]
        assert queue.put_back(messages(99)) == 0


def test_span_and_bytes() -> None:
    queue = ProcessQueue(QUEUE, 0.0)
    assert (queue.span, queue.byte_count, queue.lowest) == (0, 0, None)
    queue.put([message(10, 7), message(2010, 5)])
    assert (queue.span, queue.byte_count, queue.message_count, queue.lowest) == (2000, 12, 2, 10)
    queue.take(2)
    queue.remove(messages(2010))
    assert (queue.span, queue.byte_count) == (0, 7)
    assert queue.remove(messages(10)) == 2011


def test_not_pulled_for_120_seconds() -> None:
    queue = ProcessQueue(QUEUE, 10.0)
    assert not queue.pull_expired(130.0)
    assert queue.pull_expired(130.1)
    queue.last_pull = 100.0
    assert not queue.pull_expired(130.1)


class Comparison(RuleBasedStateMachine):
    """The real one beside a dict of offset to place, with every operation written the slow way."""

    def __init__(self) -> None:
        super().__init__()
        self.real = ProcessQueue(QUEUE, 0.0)
        self.model: dict[int, HeldPlace] = {}
        self.highest = -1

    @rule(start=st.integers(0, 40), length=st.integers(1, 6), step=st.integers(1, 3))
    def put(self, start: int, length: int, step: int) -> None:
        wanted = [start + step * n for n in range(length)]
        new = [offset for offset in wanted if offset not in self.model]
        assert self.real.put(messages(*wanted)) == len(new)
        self.model.update(dict.fromkeys(new, HeldPlace.WAITING))
        self.highest = max(self.highest, *new, -1)

    @rule(count=st.integers(1, 5))
    def take(self, count: int) -> None:
        waiting = sorted(offset for offset, place in self.model.items() if place is HeldPlace.WAITING)
        assert offsets(self.real.take(count)) == waiting[:count]
        self.model.update(dict.fromkeys(waiting[:count], HeldPlace.TAKEN))

    @rule(chosen=st.lists(st.integers(0, 50), max_size=4))
    def put_back(self, chosen: list[int]) -> None:
        known = {offset for offset in chosen if self.model.get(offset) is HeldPlace.TAKEN}
        assert self.real.put_back(messages(*chosen)) == len(known)
        self.model.update(dict.fromkeys(known, HeldPlace.WAITING))

    @rule()
    def roll_back(self) -> None:
        taken = [offset for offset, place in self.model.items() if place is HeldPlace.TAKEN]
        assert self.real.roll_back() == len(taken)
        self.model.update(dict.fromkeys(taken, HeldPlace.WAITING))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(sorted(self.model)), max_size=5))
        offset = self.real.remove(messages(*chosen))
        for each in chosen:
            self.model.pop(each, None)
        assert offset == (min(self.model) if self.model else self.highest + 1)

    @invariant()
    def agree(self) -> None:
        real, model = self.real, self.model
        assert real.message_count == len(model)
        assert real.byte_count == 100 * len(model)
        assert real.waiting_count == sum(place is HeldPlace.WAITING for place in model.values())
        assert real.span == (max(model) - min(model) if model else 0)
        assert real.lowest == (min(model) if model else None)
        assert {offset: real.place(offset) for offset in range(60)} == {
            offset: model.get(offset) for offset in range(60)
        }


TestComparison = Comparison.TestCase
TestComparison.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
