import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.delay.schedule import DelayOffsets, DelayOffsetTable, LevelSchedule, is_due, real_place

DELAY = 1000


@pytest.mark.parametrize(
    ("time", "due"), [(4999, True), (5000, True), (5001, False), (6000, False), (6001, True), (10**15, True)]
)
def test_a_message_is_due_at_its_time_and_when_that_cannot_be_right(time, due):
    assert is_due(time, 5000, DELAY) is due


@pytest.mark.parametrize(
    ("properties", "place"),
    [
        ({"REAL_TOPIC": "t", "REAL_QID": "3"}, ("t", 3)),
        ({"REAL_TOPIC": "t"}, None),
        ({"REAL_QID": "3"}, None),
        ({"REAL_TOPIC": "t", "REAL_QID": "-1"}, None),
        ({"REAL_TOPIC": "t", "REAL_QID": "x"}, None),
        ({"REAL_TOPIC": "RMQ_SYS_TRANS_HALF_TOPIC", "REAL_QID": "0"}, None),
        ({"REAL_TOPIC": "SCHEDULE_TOPIC_XXXX", "REAL_QID": "0"}, None),
        ({"REAL_TOPIC": "rmq_sys_wheel_timer", "REAL_QID": "0"}, None),
        ({"REAL_TOPIC": "rmq_sys_REVIVE_LOG_C", "REAL_QID": "7"}, ("rmq_sys_REVIVE_LOG_C", 7)),
        ({"REAL_TOPIC": "%RETRY%g+t", "REAL_QID": "0"}, ("%RETRY%g+t", 0)),
        ({"REAL_TOPIC": "../../up", "REAL_QID": "0"}, None),
        ({"REAL_TOPIC": "x" * 300, "REAL_QID": "0"}, None),
        ({"REAL_TOPIC": "t", "REAL_QID": str(1 << 31)}, None),
        ({"REAL_TOPIC": "t", "REAL_QID": "9" * 5000}, None),
    ],
)
def test_a_message_goes_where_it_says(properties, place):
    assert real_place(properties) == place


@pytest.mark.parametrize(("position", "corrected"), [(0, 3), (3, 3), (5, 5), (8, 8), (9, 8)])
def test_a_start_keeps_to_the_queue(position, corrected):
    level = LevelSchedule(DELAY, position, 3, 8)
    assert level.position == corrected
    level.correct(4, 6)
    assert level.position == min(max(corrected, 4), 6)


def test_what_is_saved_never_runs_ahead_of_the_disk():
    offsets = DelayOffsets(ManualClock())
    offsets.delivered(1, 5, 1000)
    offsets.delivered(2, 7, 2000)
    offsets.delivered(1, 6, 3000)
    offsets.settle(999)
    assert (offsets.dump().offset_table, offsets.changes, offsets.is_settled) == ({}, 0, False)
    offsets.settle(2000)
    assert offsets.dump().offset_table == {1: 5, 2: 7}
    offsets.settle(None)
    assert (offsets.dump().offset_table, offsets.is_settled) == ({1: 6, 2: 7}, True)
    other = DelayOffsets(ManualClock())
    other.load(offsets.dump())
    assert [other.saved(level) for level in (1, 2, 3)] == [6, 7, 0]
    other.load(DelayOffsetTable())
    assert other.saved(1) == 0


class LevelMachine(RuleBasedStateMachine):
    """One level against a list of times: nothing is taken early, nothing that is due is left, in order."""

    def __init__(self):
        super().__init__()
        self.now = 10_000
        self.times = []
        self.taken = []
        self.position = 0
        self.level = LevelSchedule(DELAY, 0, 0, 0)

    @rule(count=st.integers(1, 3), odd=st.sampled_from([0, 0, 0, 5000]))
    def arrive(self, count, odd):
        times = [self.now + DELAY + odd] * count
        self.times += times
        self.level.arrived(len(self.times), times)

    @rule(milliseconds=st.integers(0, 1500))
    def pass_time(self, milliseconds):
        self.now += milliseconds

    @rule()
    def wake_exactly_when_told(self):
        wait = self.level.wait(self.now)
        if wait is not None:
            self.now += wait
            self.deliver(2)

    @rule(slice_size=st.integers(1, 4))
    def deliver(self, slice_size):
        while self.level.wait(self.now) == 0:
            at = self.level.position
            entries = self.times[at : at + slice_size]
            count = self.level.take(entries, self.now)
            for time in entries[:count]:
                assert time <= self.now or time > self.now + DELAY
                self.taken.append(time)
            self.level.move(at + count)
            if count == 0:
                break
        self.position = self.level.position
        if self.position < len(self.times):
            assert not is_due(self.times[self.position], self.now, DELAY)

    @rule()
    def restart(self):
        self.level = LevelSchedule(DELAY, self.position, 0, len(self.times))
        self.taken = self.times[: self.position]

    @invariant()
    def wakes_neither_early_nor_late(self):
        wait = self.level.wait(self.now)
        if self.level.position == len(self.times):
            assert wait is None
        elif wait:
            assert self.now + wait == self.times[self.level.position]

    @invariant()
    def everything_before_is_taken(self):
        assert self.taken == self.times[: self.level.position]


TestLevel = LevelMachine.TestCase
TestLevel.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_a_saved_offset_that_does_not_exist_is_corrected_at_once():
    offsets = DelayOffsets(ManualClock())
    offsets.load(DelayOffsetTable(offset_table={3: 50}))
    offsets.correct(3, 2)
    assert (offsets.saved(3), offsets.changes) == (2, 1)
    assert offsets.dump().offset_table == {3: 2}
