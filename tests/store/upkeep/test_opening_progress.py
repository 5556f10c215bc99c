"""How far the opening of a store is."""

from __future__ import annotations

from mqframe_testing.manual_clock import ManualClock

from mqframe.store.upkeep.opening_progress import FIRST_LINE_SECONDS, LINE_SECONDS, OpeningProgress

MIB = 1 << 20


def test_it_says_how_much_of_the_log_is_checked():
    progress = OpeningProgress(ManualClock().monotonic)
    assert progress.text == "its store is opened"
    progress.begin(10 * MIB, 30 * MIB)
    assert progress.text == "its log is checked, 0 of at most 20 MiB"
    progress.reached(15 * MIB)
    assert progress.text == "its log is checked, 5 of at most 20 MiB"
    progress.start()
    assert progress.text == "its store is opened"


def test_a_short_opening_is_not_logged(caplog):
    clock = ManualClock()
    progress = OpeningProgress(clock.monotonic)
    progress.begin(0, MIB)
    clock.advance(FIRST_LINE_SECONDS / 2)
    progress.reached(MIB)
    progress.end()
    assert caplog.messages == []


def test_a_long_one_is_logged_from_time_to_time_and_at_its_end(caplog):
    clock = ManualClock()
    progress = OpeningProgress(clock.monotonic)
    progress.begin(0, 100 * MIB)
    for done in range(1, 100):
        clock.advance(LINE_SECONDS / 10)
        progress.reached(done * MIB)
    progress.end()
    progress.end()
    *told, last = caplog.messages
    assert told == [
        f"the log is checked before messages are taken mib={done} of_at_most=100"
        for done in (2, *range(12, 100, 10))
    ]
    assert last == f"the log is checked seconds={99 * LINE_SECONDS / 10}"
    assert {record.levelname for record in caplog.records} == {"WARNING"}
