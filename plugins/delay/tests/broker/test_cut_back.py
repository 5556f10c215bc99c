"""The timer beside a log that is cut: it takes its topic in again."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_delay.broker.cut_back import TimerCutBack
from mqframe_delay.store.checkpoint import TimerCheckpoint
from stopped_store import StoppedStoreOnPaper, cut_record, shown

from mqframe.core.messages.names import TIMER_TOPIC


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store whose timer has delivered up to 9000 ms, and taken in 30 messages."""
    (tmp_path / "config").mkdir()
    checkpoint = TimerCheckpoint(tmp_path / "config/timercheck")
    checkpoint.advance(9000, 520, 30, 1)
    checkpoint.save(checkpoint.encode())
    return tmp_path


def delivered(out_ms: int, topic: str = "t") -> tuple[object, bytes]:
    return cut_record(topic, f"TIMER_OUT_MS\x01{out_ms}\x02TIMER_DEQUEUE_MS\x018000\x02"), b""


def test_it_goes_on_at_the_earliest_time_for_which_it_delivered(folder: Path, tmp_path: Path) -> None:
    cut = TimerCutBack()
    shown(cut, [delivered(7500), delivered(7000), delivered(10, TIMER_TOPIC), (cut_record("t"), b"")])
    checkpoint, *gone = cut.files(StoppedStoreOnPaper(folder, first={(TIMER_TOPIC, 0): 25}))
    assert [(change.path, change.content) for change in gone] == [("timerlog", None), ("timerwheel", None)]
    assert (checkpoint.path, len(checkpoint.content)) == ("config/timercheck", 4096)
    (tmp_path / "new").write_bytes(checkpoint.content)
    now = TimerCheckpoint(tmp_path / "new")
    assert (now.read_time, now.position, now.queue_offset, now.master_offset) == (7000, 0, 0, 25)


def test_what_the_tail_does_not_touch_stays(folder: Path) -> None:
    cut = TimerCutBack()
    shown(cut, [(cut_record("t", "TIMER_OUT_MS\x011000\x02"), b"")])
    assert cut.files(StoppedStoreOnPaper(folder)) == ()


def test_a_store_without_a_timer_has_nothing_to_put_back(tmp_path: Path) -> None:
    cut = TimerCutBack()
    shown(cut, [delivered(7000)])
    assert cut.files(StoppedStoreOnPaper(tmp_path)) == ()
