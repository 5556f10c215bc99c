"""Which halves are open: the table in the module, checked against a plain model that also restarts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from mqframe_transactions.rules.half_table import HalfTable


def test_a_half_is_open_until_it_is_closed_once() -> None:
    table = HalfTable()
    assert table.place(3) == 3
    assert table.close(3) == 3
    assert (table.place(3), table.close(3)) == (None, None)
    assert table.place(2) == 2


@given(st.lists(st.integers(0, 40)), st.integers(0, 40))
def test_open_ones_are_counted_without_a_look_at_each(closed: list[int], cursor: int) -> None:
    table = HalfTable(cursor)
    for root in closed:
        table.close(root)
    for _ in range(2):
        found, at = 0, table.half_cursor
        while (at := table.next_open(at, 50)) < 50:
            found, at = found + 1, at + 1
        assert table.open(50) == found
        table.advance(50)


def test_a_half_that_was_put_back_is_closed_at_its_new_place() -> None:
    table = HalfTable()
    assert table.move(0, 5)
    assert table.move(0, 9)
    assert (table.place(0), table.moved) == (9, 1)
    assert table.close(0) == 9
    assert (table.place(0), table.moved) == (None, 0)
    assert not table.move(0, 12), "an ended transaction stays ended"
    assert table.next_open(12, 13) == 13


def test_cursors_pass_the_ended_front_only() -> None:
    table = HalfTable()
    for op, half in enumerate((1, 0, 3)):
        table.close(half)
        table.stored_op(op, half)
    assert table.advance(5)
    assert (table.half_cursor, table.op_cursor) == (2, 2)
    assert not table.advance(5)
    table.close(2)
    table.stored_op(3, 2)
    assert table.advance(5)
    assert (table.half_cursor, table.op_cursor) == (4, 4)
    assert table.place(1) is None, "what was passed has ended"


def test_halves_that_are_no_longer_kept_are_passed() -> None:
    table = HalfTable()
    table.move(0, 7)
    table.move(1, 20)
    table.skip_to(10)
    assert (table.half_cursor, table.place(0), table.place(1), table.place(12)) == (10, None, 20, 12)
    table.skip_to(3)
    assert table.half_cursor == 10


def test_ops_in_both_forms_are_found_again() -> None:
    table = HalfTable(2, 10)
    table.found_op(10, [0, 1], 8)  # all passed
    table.found_op(11, [2, 4, 99], 8)  # the last one names no half
    table.found_op(12, [], 8)
    table.found_op(13, [3], 8)
    table.settle()
    assert [table.place(offset) for offset in range(2, 6)] == [None, None, None, 5]
    assert table.advance(8)
    assert (table.half_cursor, table.op_cursor) == (5, 14)


def test_a_gap_between_ops_is_passed_too() -> None:
    table = HalfTable()
    table.close(0)
    table.stored_op(3, 0)
    table.advance(1)
    assert table.op_cursor == 4


def test_memory_is_one_bit_a_half_behind_the_cursor() -> None:
    table = HalfTable()
    for half in range(100_000, 0, -1):
        table.close(half)
        table.stored_op(100_000 - half, half)
    assert not table.advance(100_001)
    table.close(0)
    table.stored_op(100_000, 0)
    assert table.advance(100_001)
    assert (table.half_cursor, table.op_cursor) == (100_001, 100_001)
    assert table.place(100_000) is None
    assert table.place(100_001) == 100_001


class TransactionMachine(RuleBasedStateMachine):
    """One queue of (root, times checked) and one of ops, with every operation done the slow way.

    The broker may be killed at any time: the table is made anew from both queues and the offsets that were
    kept last, which may be old ones.
    """

    def __init__(self) -> None:
        super().__init__()
        self.table = HalfTable()
        self.halves: list[int] = []
        self.ops: list[list[int]] = []
        self.outcome: dict[int, str] = {}
        self.kept = (0, 0)

    def current(self, root: int) -> int:
        return max(offset for offset, each in enumerate(self.halves) if each == root)

    @property
    def roots(self) -> list[int]:
        return sorted(set(self.halves))

    @rule(count=st.integers(1, 12))
    def send(self, count: int) -> None:
        for _ in range(count):
            self.halves.append(len(self.halves))

    @precondition(lambda self: self.halves)
    @rule(data=st.data(), outcome=st.sampled_from(["committed", "rolled back", "discarded"]))
    def end(self, data: st.DataObject, outcome: str) -> None:
        root = data.draw(st.sampled_from(self.roots))
        at = self.table.close(root)
        if root in self.outcome:
            assert at is None, "a second or late end changes nothing"
            return
        assert at == self.current(root)
        self.outcome[root] = outcome
        self.ops.append([at])
        self.table.stored_op(len(self.ops) - 1, at)

    @precondition(lambda self: self.halves)
    @rule(data=st.data())
    def say_unknown(self, data: st.DataObject) -> None:
        root = data.draw(st.sampled_from(self.roots))
        assert (self.table.place(root) is None) == (root in self.outcome)

    @rule(most=st.integers(1, 6))
    def check(self, most: int) -> None:
        """Puts back the first few open ones, as a check does that is cut short."""
        end = len(self.halves)
        at = self.table.half_cursor
        for _ in range(most):
            at = self.table.next_open(at, end)
            if at >= end:
                break
            root = self.halves[at]
            assert root not in self.outcome
            assert self.current(root) == at
            self.halves.append(root)
            assert self.table.move(root, len(self.halves) - 1)
            at += 1

    @rule()
    def advance(self) -> None:
        before = self.table.half_cursor, self.table.op_cursor
        moved = self.table.advance(len(self.halves))
        assert moved == (before != (self.table.half_cursor, self.table.op_cursor))

    @rule()
    def keep(self) -> None:
        self.kept = self.table.half_cursor, self.table.op_cursor

    @rule()
    def be_killed(self) -> None:
        half, op = self.kept
        self.table = table = HalfTable(half, op)
        for offset in range(half, len(self.halves)):
            if self.halves[offset] != offset:
                table.found_copy(offset, self.halves[offset])
        for offset in range(op, len(self.ops)):
            table.found_op(offset, self.ops[offset], len(self.halves))
        table.settle()

    @invariant()
    def open_is_what_has_no_outcome(self) -> None:
        for root in self.roots:
            wanted = None if root in self.outcome else self.current(root)
            assert self.table.place(root) == wanted

    @invariant()
    def no_open_half_is_passed(self) -> None:
        for root in self.roots:
            if root not in self.outcome:
                assert self.current(root) >= self.table.half_cursor
        for number in range(self.table.op_cursor):
            assert all(offset < self.table.half_cursor for offset in self.ops[number])

    @invariant()
    def memory_is_for_open_ones(self) -> None:
        assert self.table.moved <= sum(root not in self.outcome for root in self.roots)


TestTransactionMachine = TransactionMachine.TestCase
TestTransactionMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
