"""Pops against a model that knows for each message only where it is."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from mqframe_pop.rules.bodies import AckBody, CheckPointBody
from mqframe_pop.rules.check_point import CheckPoint, Kept, Key, key_of
from mqframe_pop.rules.check_point_table import CheckPointTable

QUEUE = ("t", "g", 0)
STAY = 100


def pop(start: int, count: int, now: int, invisible: int) -> CheckPoint:
    offsets = tuple(range(start, start + count))
    return CheckPoint(Key(*QUEUE, start, now), invisible, offsets, 0, start + count)


def test_two_pops_with_one_key_are_an_error():
    points = CheckPointTable()
    points.add(pop(0, 1, 0, 10))
    with pytest.raises(ValueError, match="already"):
        points.add(pop(0, 1, 0, 10))


def test_the_offset_follows_the_first_pop_that_is_still_out():
    points = CheckPointTable()
    first, second = pop(0, 2, 0, 10), pop(2, 1, 0, 10)
    skipped = CheckPoint(Key(*QUEUE, 3, 0), 10, (), 0, 9)
    for point in (first, second, skipped):
        points.add(point)
    assert (points.next_offset(QUEUE), points.in_flight(*QUEUE)) == (9, 3)
    assert points.finish(second, [2]) == 1
    assert points.take_committable(QUEUE) is None
    assert points.finish(first, [0, 0, 7]) == 1
    assert points.finish(first, [1]) == 1
    assert points.take_committable(QUEUE) == 9
    assert (points.next_offset(QUEUE), points.in_flight(*QUEUE), len(points)) == (-1, 0, 0)


def test_pops_that_hold_back_an_offset_are_counted():
    table = CheckPointTable()
    table.add(pop(0, 2, 0, 1000))
    table.add(pop(2, 2, 1, 1000))
    assert table.held_offsets == 2
    table.clear_queue(("t", "g", 0))
    assert table.held_offsets == 0


def test_wakes_of_pops_that_are_gone_do_not_pile_up():
    points = CheckPointTable()
    for number in range(20_000):
        point = pop(number, 1, 0, 10**9)
        points.add(point)
        points.finish(point, [number])
        points.take_committable(QUEUE)
    assert points.next_wake_ms() is None


class Machine(RuleBasedStateMachine):
    """A queue that is popped, acknowledged, brought back, while the broker is killed now and then.

    The model: for each offset given out, until when it is hidden, and whether it was acknowledged or stored
    again. `log`: what the revive log holds; `stored`: the offset that survives a kill.
    """

    @initialize()
    def begin(self) -> None:
        self.now = 0
        self.points = CheckPointTable(STAY)
        self.log: list[CheckPointBody | AckBody] = []
        self.committed = 0
        self.stored_again: set[int] = set()
        self.acknowledged: set[int] = set()
        self.popped: set[int] = set()

    def _commit(self) -> None:
        offset = self.points.take_committable(QUEUE)
        if offset is not None:
            self.committed = max(self.committed, offset)

    def _write(self, point: CheckPoint) -> None:
        point.write()
        self.log.append(point.body("b"))
        point.confirm(len(self.log) - 1)
        self.points.written(point)

    def _write_ends(self) -> None:
        for point in self.points.take_unwritten():
            offsets = point.take_unwritten()
            if offsets:
                self.log.append(point.acknowledgement(offsets, "b"))
            self.points.written(point)

    @rule(count=st.integers(1, 4), invisible=st.sampled_from([50, 150, 400]))
    def pop(self, count: int, invisible: int) -> None:
        start = max(self.committed, self.points.next_offset(QUEUE))
        if Key(*QUEUE, start, self.now) in self.points:
            return
        point = pop(start, count, self.now, invisible)
        self.points.add(point)
        self.popped |= set(point.offsets)

    @rule(count=st.integers(1, 4))
    def skip(self, count: int) -> None:
        start = max(self.committed, self.points.next_offset(QUEUE))
        skipped = range(start, start + count)
        self.points.add(CheckPoint(Key(*QUEUE, start, self.now), 50, (), 0, start + count))
        self.popped |= set(skipped)
        self.acknowledged |= set(skipped)  # nobody wants them: as good as done
        self._commit()

    @precondition(lambda self: len(self.points))
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        points = [p for p in map(self.points.find, self._keys()) if p is not None]
        point = data.draw(st.sampled_from(points))
        offset = data.draw(st.sampled_from(point.offsets))
        was_open = point.is_open(offset, self.now)
        assert was_open == (self.now < point.visible_at and not point.done >> point.offsets.index(offset) & 1)
        if was_open:
            assert self.points.finish(point, [offset]) == 1
            self.acknowledged.add(offset)
            self._commit()

    def _keys(self) -> list[Key]:
        return [
            Key(*QUEUE, start, time)
            for start in range(max(self.popped, default=0) + 1)
            for time in range(0, self.now + 1, 10)
        ]

    @rule(steps=st.integers(1, 12))
    def wait(self, steps: int) -> None:
        for _ in range(steps):
            self.now += 10
            due = self.points.take_due(self.now)
            for point in due.write:
                self._write(point)
            for point in due.revive:
                assert self.now >= point.visible_at
                offsets = point.begin_revival()
                self.stored_again |= set(offsets)
                self.points.finish(point, list(offsets))
            self._commit()
            wake = self.points.next_wake_ms()
            assert wake is None or wake > self.now

    @rule()
    def flush(self) -> None:
        self._write_ends()

    @rule()
    def kill(self) -> None:
        """Only the revive log and the committed offset survive; what was acknowledged may come again."""
        self.points = CheckPointTable(STAY)
        for at, record in enumerate(self.log):
            if isinstance(record, CheckPointBody):
                point = CheckPoint.restored(record, 0, at)
                assert point is not None
                self.points.restore(point)
            else:
                key = key_of(record)
                assert key is not None
                known = self.points.find(key)
                if known is not None:
                    self.points.finish(known, record.offsets or [record.offset])
                    known.take_unwritten()
                    self.points.written(known)

    @invariant()
    def nothing_is_lost(self) -> None:
        """Each message is done, or will be popped, or is in a pop that will be brought back."""
        if not hasattr(self, "points"):
            return
        out = {
            offset
            for point in map(self.points.find, self._keys())
            if point is not None
            for at, offset in enumerate(point.offsets)
            if not point.done >> at & 1
        }
        for offset in range(self.committed):
            assert offset in self.acknowledged | self.stored_again | out, f"{offset} is lost"

    @invariant()
    def a_kill_now_would_lose_nothing(self) -> None:
        if not hasattr(self, "points"):
            return
        kept = {
            offset
            for point in map(self.points.find, self._keys())
            if point is not None and point.kept is Kept.LOGGED
            for at, offset in enumerate(point.offsets)
            if not point.done >> at & 1
        }
        for offset in range(self.committed):
            assert offset in self.acknowledged | self.stored_again | kept


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestPops = Machine.TestCase
