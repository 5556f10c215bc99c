"""Where a lite pull consumer stands: the table in the module, checked against a plain model."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mqframe.core.consuming.assigned_queue import AssignedQueue
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.messages.message import MessageQueue, ReceivedMessage

QUEUE = MessageQueue("orders", "broker-a", 0)
HOST = bytes((127, 0, 0, 1, 0, 0, 0, 1))


def message(offset: int) -> ReceivedMessage:
    return ReceivedMessage(
        "orders", 0, offset, offset * 100, 100, 0, 0, HOST, HOST, 0, 0, 0, 0, 0, b"x", b"", "broker-a"
    )


def messages(*offsets: int) -> list[ReceivedMessage]:
    return [message(offset) for offset in offsets]


def offsets(taken: list[ReceivedMessage]) -> list[int]:
    return [each.queue_offset for each in taken]


def known(position: AssignedQueue) -> tuple[int | None, int | None, int | None]:
    return position.next_offset, position.consumed, position.settled


class TestOffsets:
    def test_begins_where_the_store_says_unless_a_seek_came_first(self) -> None:
        position = AssignedQueue(QUEUE, 0.0)
        position.place(7)
        assert known(position) == (7, None, None)
        sought = AssignedQueue(QUEUE, 0.0)
        sought.seek(3, 0.0)
        sought.place(7)
        assert known(sought) == (3, 3, 3)

    def test_handing_out_moves_consumed_and_settling_moves_settled(self) -> None:
        position = AssignedQueue(QUEUE, 0.0, 4)
        assert position.pulled(position.held, messages(4, 5, 6), 7)
        assert offsets(position.take(2)) == [4, 5]
        assert known(position) == (7, 6, None)
        position.settle()
        assert offsets(position.take(9)) == [6]
        assert known(position) == (7, 7, 6)

    def test_messages_that_nobody_wanted_do_not_hold_progress_back(self) -> None:
        position = AssignedQueue(QUEUE, 0.0, 0)
        position.pulled(position.held, messages(1), 10)
        position.take(1)
        assert position.consumed == 10
        position.pulled(position.held, [], 20)
        assert position.consumed == 20
        position.pulled(position.held, messages(21), 22)
        assert position.consumed == 20

    def test_a_seek_voids_what_is_held_and_what_is_under_way(self) -> None:
        position = AssignedQueue(QUEUE, 0.0, 0)
        ticket = position.held
        position.pulled(ticket, messages(0, 1), 2)
        position.seek(9, 0.0)
        assert ticket.dropped
        assert not position.pulled(ticket, messages(2), 3)
        assert not position.moved(ticket, 5, 0.0)
        assert position.take(9) == []
        assert known(position) == (9, 9, 9)

    def test_an_offset_that_does_not_exist_is_replaced(self) -> None:
        position = AssignedQueue(QUEUE, 0.0, 100)
        assert position.moved(position.held, 40, 0.0)
        assert known(position) == (40, 40, 40)

    def test_a_dropped_queue_gives_and_learns_nothing(self) -> None:
        position = AssignedQueue(QUEUE, 0.0, 0)
        position.pulled(position.held, messages(0, 1), 2)
        position.take(1)
        position.settle()
        position.drop(0.0)
        before = known(position)
        assert position.take(9) == []
        assert not position.pulled(position.held, messages(2), 3)
        assert not position.moved(position.held, 3, 0.0)
        position.seek(0, 0.0)
        position.settle()
        assert known(position) == before == (2, 1, 1)


class PositionMachine(RuleBasedStateMachine):
    """The queue is endless, every third message is wanted. The model keeps lists of plain numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.position = AssignedQueue(QUEUE, 0.0)
        self.dropped = False
        self.next: int | None = None
        self.consumed: int | None = None
        self.settled: int | None = None
        self.held: list[int] = []
        self.tickets: list[tuple[ProcessQueue, int]] = []

    def jump(self, offset: int) -> None:
        self.next = self.consumed = self.settled = offset
        self.held, self.tickets = [], [(ticket, -1) for ticket, _ in self.tickets]

    @rule(offset=st.integers(0, 50))
    def place(self, offset: int) -> None:
        self.position.place(offset)
        if self.next is None:
            self.next = offset

    @rule(offset=st.integers(0, 50))
    def seek(self, offset: int) -> None:
        self.position.seek(offset, 0.0)
        if not self.dropped:
            self.jump(offset)

    @precondition(lambda self: self.next is not None)
    @rule()
    def begin_pull(self) -> None:
        assert self.next is not None
        self.tickets.append((self.position.held, self.next))

    @precondition(lambda self: self.tickets)
    @rule(count=st.integers(0, 8), data=st.data())
    def answer(self, count: int, data: st.DataObject) -> None:
        ticket, begin = self.tickets.pop(data.draw(st.integers(0, len(self.tickets) - 1)))
        # Pulls of a queue follow one another; one that began elsewhere was voided by what moved it.
        if begin not in (-1, self.next):
            return
        at = max(begin, 0)
        wanted = [offset for offset in range(at, at + count) if offset % 3 == 0]
        taken = self.position.pulled(ticket, messages(*wanted), at + count)
        assert taken == (begin >= 0 and not self.dropped)
        if taken:
            self.next = at + count
            self.held += wanted
            if not self.held:
                self.consumed = self.next

    @precondition(lambda self: self.tickets)
    @rule(offset=st.integers(0, 50))
    def answer_moved(self, offset: int) -> None:
        ticket, begin = self.tickets.pop()
        taken = self.position.moved(ticket, offset, 0.0)
        assert taken == (begin >= 0 and not self.dropped)
        if taken:
            self.jump(offset)

    @rule(count=st.integers(1, 4))
    def take(self, count: int) -> None:
        taken = offsets(self.position.take(count))
        assert taken == self.held[:count]
        self.held = self.held[count:]
        if taken:
            self.consumed = self.held[0] if self.held else self.next

    @rule()
    def settle(self) -> None:
        self.position.settle()
        if not self.dropped:
            self.settled = self.consumed

    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        self.position.paused = paused

    @precondition(lambda self: self.next is not None and self.next > 20)
    @rule()
    def drop(self) -> None:
        self.position.drop(0.0)
        self.dropped, self.held = True, []
        self.tickets = [(ticket, -1) for ticket, _ in self.tickets]

    @invariant()
    def same_as_the_model(self) -> None:
        assert known(self.position) == (self.next, self.consumed, self.settled)
        assert self.position.held.message_count == len(self.held)

    @invariant()
    def nothing_is_settled_that_was_not_handed_out(self) -> None:
        if self.settled is not None:
            assert self.consumed is not None
            assert self.settled <= self.consumed <= (self.next or 0)
            assert all(offset >= self.settled for offset in self.held)


TestPositionMachine = PositionMachine.TestCase
TestPositionMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
