from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_delay.rules.timer_layout import CHECKPOINT
from mqframe_delay.store.checkpoint import TimerCheckpoint
from mqframe_delay.store.copied import followed, save_followed
from mqframe_delay.store.timer_store import TimerStore

from mqframe.core.errors import BadAnswer

NUMBER = st.integers(0, 2**62)


@given(st.tuples(*[NUMBER] * 7))
def test_a_slave_keeps_the_read_time_and_what_was_taken_in_but_no_place_in_a_wheel(
    numbers: tuple[int, ...],
) -> None:
    read_time, _, taken_in, _, *version = numbers
    kept = CHECKPOINT.unpack(followed(CHECKPOINT.pack(*numbers)))
    assert kept == (read_time, 0, 0, taken_in, *version)


@given(st.binary(max_size=CHECKPOINT.size - 1))
def test_too_few_bytes_are_refused(raw: bytes) -> None:
    with pytest.raises(BadAnswer, match="check point"):
        followed(raw)


def test_no_wheel_of_an_earlier_time_is_left(tmp_path: Path) -> None:
    def timer() -> TimerStore:
        return TimerStore(
            tmp_path, precision_ms=1000, window_slots=1000, log_file_bytes=52 * 100, now=1_700_000_000_000
        )

    first = timer()
    first.move_write_time(1_700_000_000_000)
    first.add(1_700_000_050_000, 4711, 100, 5, recalls=False)
    first.taken_in(1, 4711)
    first.mark(5000)
    first.sync(first.begin_sync(None, 1_700_000_000_000))
    first.close()
    save_followed(tmp_path, CHECKPOINT.pack(1_700_000_020_000, 0, 0, 9, 0, 7, 1))
    assert TimerCheckpoint(tmp_path / "config" / "timercheck").read_time == 1_700_000_020_000
    later = timer()
    assert later.is_empty
    assert not later.lost
    assert (later.queue_offset, later.taken_before, later.waiting) == (0, 9, 0)
    assert later.read_time <= 1_700_000_020_000
    later.close()
