from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.storage.cleaning import (
    DiskLimits,
    Pressure,
    TrustedTime,
    files_to_delete,
    parse_hours,
    pressure,
)

HOUR = 3_600_000
ALWAYS = DiskLimits(enough_free_bytes=0)


@pytest.mark.parametrize(
    ("used", "level"),
    [
        (0, Pressure.NONE),
        (75, Pressure.NONE),
        (76, Pressure.CLEAN),
        (85, Pressure.CLEAN),
        (86, Pressure.FORCE),
        (90, Pressure.FORCE),
        (91, Pressure.REFUSE),
        (100, Pressure.REFUSE),
    ],
)
def test_pressure(used, level):
    assert pressure(100, 100 - used, ALWAYS) is level


def test_percentages_wait_for_the_free_bytes_to_run_short():
    limits = DiskLimits(enough_free_bytes=10)
    assert pressure(1000, 10, limits) is Pressure.NONE
    assert pressure(1000, 9, limits) is Pressure.REFUSE
    assert pressure(0, 0, ALWAYS) is Pressure.NONE


def ages(*hours):
    return [1000 * HOUR - age * HOUR for age in hours]


@pytest.mark.parametrize(
    ("hours_old", "hour", "level", "count"),
    [
        ([80, 73, 71, 0], 4, Pressure.NONE, 2),
        ([80, 73, 71, 0], 5, Pressure.NONE, 0),
        ([80, 73, 71, 0], 5, Pressure.CLEAN, 2),
        ([80, 73, 71, 0], 5, Pressure.FORCE, 3),
        ([80, 73, 71, 0], 5, Pressure.REFUSE, 3),
        ([80, 71, 80, 0], 4, Pressure.NONE, 1),
        ([99], 4, Pressure.REFUSE, 0),
        ([], 4, Pressure.REFUSE, 0),
        ([99] * 20, 4, Pressure.NONE, 10),
    ],
)
def test_files_to_delete(hours_old, hour, level, count):
    assert files_to_delete(ages(*hours_old), 1000 * HOUR, hour, 72 * HOUR, {4}, level) == count


@given(
    st.lists(st.integers(0, 200), max_size=30),
    st.integers(0, 23),
    st.sampled_from(Pressure),
)
def test_never_the_last_and_never_more_than_ten(hours_old, hour, level):
    count = files_to_delete(ages(*hours_old), 1000 * HOUR, hour, 72 * HOUR, {4}, level)
    assert 0 <= count <= min(10, max(0, len(hours_old) - 1))
    if level < Pressure.FORCE:
        assert all(age >= 72 for age in hours_old[:count])


def test_hours():
    assert parse_hours("04") == {4}
    assert parse_hours("04;16;") == {4, 16}
    for bad in ("24", "x", "-1"):
        with pytest.raises(ValueError, match=r".+"):
            parse_hours(bad)


def test_files_do_not_grow_old_by_a_clock_that_was_just_set_forward():
    clock = ManualClock()
    time = TrustedTime(clock, clock.now_ms() - 5000)
    begin = clock.now_ms()
    assert (time.now_ms(), time.doubted_ms) == (begin, 0)
    clock.jump(7 * 86_400)
    clock.advance(60)
    assert (time.now_ms(), time.doubted_ms) == (begin + 60_000, 7 * 86_400_000)
    clock.jump(-7 * 86_400)
    assert (time.now_ms(), time.doubted_ms) == (begin + 60_000, 0)
    clock.jump(-86_400)
    assert time.now_ms() == clock.now_ms()


def test_a_clock_that_stays_where_it_was_set_is_believed_after_a_day():
    clock = ManualClock()
    time = TrustedTime(clock, None)
    clock.jump(7 * 86_400)
    time.now_ms()
    clock.advance(86_399)
    assert time.now_ms() == clock.now_ms() - 7 * 86_400_000
    clock.advance(1)
    assert time.now_ms() == clock.now_ms()


def test_a_start_under_a_wrong_clock_makes_nothing_old():
    clock = ManualClock()
    newest = clock.now_ms()
    clock.jump(30 * 86_400)
    time = TrustedTime(clock, newest)
    clock.advance(10)
    assert time.now_ms() == newest + 10_000
