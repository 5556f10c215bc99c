"""Ordered pops of one queue against a model that knows each message's state."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from mqframe_pop.rules.bodies import OrderInfoTable
from mqframe_pop.rules.order import IDLE_MS, Commit, OrderTable, all_offsets, open_offsets
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.wire.loose_json import decode, dumps

QUEUE = ("t", "g", 0)


def test_a_saved_table_has_the_reference_s_names():
    clock = ManualClock(1000)
    table = OrderTable(clock)
    table.popped(QUEUE, "a", 1000, 50, [5, 6, 9])
    table.commit(QUEUE, 6, 1000)
    table.change_invisible_time(QUEUE, 5, 1000, 1100)
    text = dumps(table.dump())
    assert text == (
        b'{"table":{"t@g":{"0":{"popTime":1000,"i":50,"o":[5,1,4],"ot":{"5":1100},"oc":{},"l":1000,'
        b'"cm":2,"a":"a"}}}}'
    )
    again = OrderTable(clock)
    again.load(decode(text, OrderInfoTable))
    info = again.find(QUEUE)
    assert info is not None
    assert (all_offsets(info), open_offsets(info)) == ([5, 6, 9], [5, 9])
    assert again.free_at_ms(QUEUE) == 1100


def test_a_table_of_the_reference_is_taken_over():
    text = b'{table:{"t@g":{0:{"popTime":7,"i":5,"o":[3],"cm":0,"l":9},1:{"o":[]}}},"x":1}'
    table = OrderTable(ManualClock(8))
    table.load(decode(text, OrderInfoTable))
    assert table.queues() == [QUEUE]
    assert table.blocks(QUEUE, None, 1)


def test_what_fails_too_often_is_named():
    clock = ManualClock(0)
    table = OrderTable(clock)
    for _ in range(3):
        table.popped(QUEUE, None, clock.now_ms(), 10, [5, 6])
        clock.advance(0.01)
    table.commit(QUEUE, 6, 20)
    assert table.exhausted(QUEUE, 2) == [5]
    assert table.exhausted(QUEUE, 3) == []
    table.clear(QUEUE)
    assert table.exhausted(QUEUE, 0) == []


def test_queues_that_nobody_pops_are_forgotten():
    clock = ManualClock(0)
    table = OrderTable(clock)
    table.popped(QUEUE, None, 0, 10, [0])
    clock.advance(IDLE_MS / 1000)
    table.clean()
    assert table.queues() == [QUEUE]
    clock.advance(0.001)
    table.clean()
    assert (table.queues(), table.dump().table) == ([], {})


class Machine(RuleBasedStateMachine):
    """The model: the last pop's messages, for each whether it is done and when it is visible, and tries."""

    @initialize()
    def begin(self) -> None:
        self.clock = ManualClock(1000)
        self.table = OrderTable(self.clock)
        self.offset = 0
        self.pop_time = 0
        self.attempt: str | None = None
        self.done: dict[int, bool] = {}
        self.visible: dict[int, int] = {}
        self.tries: dict[int, int] = {}

    def is_blocked(self, attempt: str | None) -> bool:
        if self.attempt is not None and attempt == self.attempt:
            return False
        now = self.clock.now_ms()
        return any(not done and now < self.visible[offset] for offset, done in self.done.items())

    @rule(
        count=st.integers(1, 4),
        invisible=st.sampled_from([10, 100]),
        attempt=st.sampled_from([None, "a", "b"]),
    )
    def pop(self, count: int, invisible: int, attempt: str | None) -> None:
        blocked = self.table.blocks(QUEUE, attempt, invisible)
        assert blocked == self.is_blocked(attempt)
        if blocked:
            return
        offsets = list(range(self.offset, self.offset + count))
        again = self.attempt is not None and attempt == self.attempt
        tries = self.tries if again else {o: self.tries.get(o, 0) + 1 for o in offsets if o in self.done}
        self.clock.advance(0.001)
        self.pop_time, self.attempt = self.clock.now_ms(), attempt
        assert self.table.popped(QUEUE, attempt, self.pop_time, invisible, offsets) == tries
        self.tries = dict(tries)
        self.done = dict.fromkeys(offsets, False)
        self.visible = dict.fromkeys(offsets, self.pop_time + invisible)

    @precondition(lambda self: self.done)
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        offset = data.draw(st.sampled_from(list(self.done)))
        self.done[offset] = True
        following = self.table.commit(QUEUE, offset, self.pop_time)
        still_open = [each for each, done in self.done.items() if not done]
        assert following == (still_open[0] if still_open else max(self.done) + 1)
        assert isinstance(following, int)
        assert following >= self.offset
        self.offset = following

    @precondition(lambda self: self.done)
    @rule()
    def acknowledge_badly(self) -> None:
        assert self.table.commit(QUEUE, max(self.done) + 1, self.pop_time) is Commit.UNKNOWN_OFFSET
        assert self.table.commit(QUEUE, min(self.done), self.pop_time - 1) is Commit.OTHER_POP

    @precondition(lambda self: self.done)
    @rule(data=st.data(), invisible=st.sampled_from([5, 200]))
    def change_invisible_time(self, data: st.DataObject, invisible: int) -> None:
        offset = data.draw(st.sampled_from(list(self.done)))
        now = self.clock.now_ms()
        is_open = not self.done[offset] and now < self.visible[offset]
        assert self.table.change_invisible_time(QUEUE, offset, self.pop_time, now + invisible) == is_open
        if is_open:
            self.visible[offset] = now + invisible

    @rule(ms=st.sampled_from([1, 9, 50, 300]))
    def wait(self, ms: int) -> None:
        self.clock.advance(ms / 1000)

    @rule()
    def restart(self) -> None:
        saved = dumps(self.table.dump())
        self.table = OrderTable(self.clock)
        self.table.load(decode(saved, OrderInfoTable))

    @invariant()
    def the_end_of_the_block_is_known(self) -> None:
        if not hasattr(self, "table"):
            return
        free_at = self.table.free_at_ms(QUEUE)
        assert (free_at is not None) == self.is_blocked(None)
        if free_at is not None:
            assert free_at == max(self.visible[each] for each, done in self.done.items() if not done)


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestOrder = Machine.TestCase


def test_a_pop_of_what_is_not_there_any_more_is_forgotten():
    table = OrderTable(ManualClock(0))
    table.popped(QUEUE, None, 0, 10, [5, 6])
    changes = table.changes
    table.keep_before(QUEUE, 7)
    assert table.find(QUEUE) is not None
    assert table.changes == changes
    table.keep_before(QUEUE, 6)
    assert table.find(QUEUE) is None
    assert table.changes == changes + 1
    table.keep_before(QUEUE, 0)
