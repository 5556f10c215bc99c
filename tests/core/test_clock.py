"""Clocks that do not heed a wall clock that is set."""

from __future__ import annotations

from mqframe_testing.manual_clock import ManualClock

from mqframe.core.clock import SetTimes, SteadyClock


def test_a_steady_clock_runs_on_when_the_wall_clock_is_set() -> None:
    clock = ManualClock()
    clock.advance(3)
    steady = SteadyClock(clock)
    begin = clock.now_ms()
    assert (steady.now_ms(), steady.monotonic(), steady.ahead_ms()) == (begin, 3.0, 0)
    clock.jump(-3600)
    clock.advance(2.5)
    assert (steady.now_ms(), steady.ahead_ms()) == (begin + 2500, -3_600_000)
    clock.jump(7200)
    assert (steady.now_ms(), steady.ahead_ms()) == (begin + 2500, 3_600_000)


def test_a_time_means_what_the_clock_meant_when_it_was_stored() -> None:
    clock = ManualClock()
    times = SetTimes(SteadyClock(clock), 10)
    assert (times.correction(9), times.correction(10)) == (None, 0)
    times.stored(10)
    clock.jump(3600)
    times.stored(12)
    times.stored(13)
    assert [times.correction(offset) for offset in (10, 11, 12, 99)] == [3_600_000, 3_600_000, 0, 0]
    clock.jump(-7200)
    times.stored(14)
    assert [times.correction(offset) for offset in (11, 12, 14)] == [-3_600_000, -7_200_000, 0]
    clock.jump(0.9)  # no clock is exact
    assert times.correction(14) == 0


def test_small_jumps_make_a_large_one() -> None:
    clock = ManualClock()
    times = SetTimes(SteadyClock(clock), 0)
    times.stored(0)
    clock.jump(-0.8)
    times.stored(5)
    clock.jump(-1.1)
    assert [times.correction(offset) for offset in (0, 4, 5)] == [-1900, -1900, -1100]


def test_what_nobody_asks_for_any_more_is_not_remembered() -> None:
    clock = ManualClock()
    times = SetTimes(SteadyClock(clock), 0)
    for offset in range(1, 1000):
        clock.jump(0.06)  # a clock that runs too fast
        times.stored(offset)
    assert times.marks == 1000
    before = [times.correction(offset) for offset in range(900, 1000)]
    assert before[0] == 60 * 99
    times.passed(900)
    assert times.marks == 100
    assert [times.correction(offset) for offset in range(900, 1000)] == before
    times.passed(5000)
    assert times.marks == 1
