"""Wheel, log and checkpoint of the timer are compared with one another and with the log."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_delay.rules.timer_layout import UNIT
from mqframe_delay.store.timer_store import TimerStore

from mqframe.core.storage.log_scan import LogRecord
from mqframe.store.checking.findings import Finding, Findings
from mqframe.store.checking.timer_check import TimerCheck
from mqframe.store.files.layout import Layout

NOW = 1_700_000_000_000


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """Five messages in two slots."""
    timer = TimerStore(tmp_path, precision_ms=1000, window_slots=100, log_file_bytes=560, now=NOW)
    timer.move_write_time(NOW)
    for number in range(5):
        timer.add(NOW + 5000 + number % 2 * 1000, number * 100, 100, 0, recalls=False)
    timer.taken_in(5, 400)
    timer.mark(500)
    timer.sync(timer.begin_sync(None, NOW))
    timer.close()
    return Layout(tmp_path)


def record_at(offset: int) -> LogRecord | None:
    if offset % 100 or offset > 400:
        return None
    return LogRecord(offset, 100, "rmq_sys_wheel_timer", 0, offset // 100, 0, NOW, "")


def told(layout: Layout, topic_end: int = 5) -> list[Finding]:
    findings = Findings(layout.root, killed=False)
    TimerCheck(layout, 1000, record_at, 0, topic_end).run(findings)
    return findings.in_order()


def change(path: Path, at: int, value: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= value
    path.write_bytes(raw)


def test_what_agrees(layout: Layout) -> None:
    assert told(layout) == []


def test_no_timer_at_all(tmp_path: Path) -> None:
    assert told(Layout(tmp_path)) == []


def test_a_chain_that_leads_elsewhere(layout: Layout) -> None:
    change(layout.timer_log / f"{0:020d}", 2 * UNIT.size + 11, 1)
    (one,) = told(layout)
    assert (one.file, one.offset) == (f"timerlog/{0:020d}", 2 * UNIT.size + 4)


def test_a_unit_without_its_message(layout: Layout) -> None:
    change(layout.timer_log / f"{0:020d}", UNIT.size + 35, 1)
    (one,) = told(layout)
    assert (one.offset, one.expected) == (UNIT.size + 28, "a record that lies there: there is no record")


def test_units_that_are_gone(layout: Layout) -> None:
    path = layout.timer_log / f"{0:020d}"
    path.write_bytes(path.read_bytes()[: UNIT.size * 3] + bytes(560 - UNIT.size * 3))
    found = told(layout)
    assert (found[0].file, found[0].offset) == (f"timerlog/{0:020d}", UNIT.size * 3)
    assert {each.file for each in found} == {f"timerlog/{0:020d}", "timerwheel"}


def test_a_slot_that_says_something_else(layout: Layout) -> None:
    at = (NOW + 5000) // 1000 % 1_209_600 * 32
    change(layout.timer_wheel, at + 27, 1)
    (one,) = told(layout)
    assert (one.file, one.offset) == ("timerwheel", at)


def test_files_that_are_gone_or_short(layout: Layout) -> None:
    layout.timer_wheel.unlink()
    (one,) = told(layout)
    assert (one.file, one.found) == ("timerwheel", "no file")
    layout.timer_checkpoint.write_bytes(b"1234")
    assert "config/timercheck" in {each.file for each in told(layout)}


def test_more_taken_in_than_there_is(layout: Layout) -> None:
    (one,) = told(layout, topic_end=4)
    assert (one.file, one.offset) == ("config/timercheck", 16)
