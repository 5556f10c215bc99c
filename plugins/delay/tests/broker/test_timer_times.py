"""What times in messages of the timer topic mean once the clock was set."""

from __future__ import annotations

import pytest
from broker.conftest import LocalStore
from mqframe_delay.broker.timer_times import TimerTimes
from mqframe_delay.settings import DelaySettings
from timers import NOW, TIMER_TOPIC

from mqframe.core.storage.record import decode_record

HOUR = 3600


def put(local, times, out_ms, **more):
    stored = local.put(TIMER_TOPIC, b"x", TIMER_OUT_MS=out_ms, REAL_TOPIC="t", REAL_QID=0, **more)
    if times is not None:
        times.arrived(stored.queue_offset)
    return decode_record(bytes(local.store.search.record_at(stored.commit_log_offset)))


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
async def test_delays_move_with_the_clock_and_times_do_not(jump, tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        old = put(local, None, NOW + 30_000, TIMER_DELAY_SEC=31)
        times = TimerTimes(local.store, DelaySettings(), local.clock)
        delay = put(local, times, NOW + 30_000, TIMER_DELAY_SEC=31)
        time = put(local, times, NOW + 30_000, TIMER_DELIVER_MS=NOW + 31_000)
        assert [times.due(message) for message in (old, delay, time)] == [NOW + 30_000] * 3
        local.clock.jump(jump)
        shift = jump * 1000
        late = put(local, times, NOW + shift + 5000, TIMER_DELAY_MS=6000)
        assert times.due(delay) == NOW + shift + 30_000
        assert times.due(time) == NOW + 30_000
        assert times.due(late) == NOW + shift + 5000
        assert times.due(old) == min(NOW + 30_000, NOW + shift + 30_000)
        assert times.due(old, NOW + shift + 1000) == min(NOW + 30_000, NOW + shift + 1000)
        local.clock.jump(-jump)
        assert [times.due(message) for message in (delay, late)] == [NOW + 30_000, NOW + 5000]
        assert (times.too_early(delay), times.too_early(time), times.too_early(old)) == (
            NOW + 30_000, None, None,
        )  # fmt: skip
        local.clock.advance(31)
        assert times.too_early(delay) is None


async def test_only_a_clock_that_was_set_back_is_told(tmp_path):
    async with LocalStore(tmp_path / "store") as local:
        times = TimerTimes(local.store, DelaySettings(), local.clock)
        local.clock.jump(HOUR)
        assert not times.was_set_back()
        local.clock.jump(-HOUR)
        assert times.was_set_back()
        assert not times.was_set_back()
        local.clock.jump(-0.5)
        assert not times.was_set_back()
