"""Records taken one after the other out of a window of the log."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from stores import put

from mqframe.core.storage.record_filter import record_filter
from mqframe.store.files.log_file import LogFile
from mqframe.store.reading.log_window import LogWindow, WaitsForDisk


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What is read from files instead of their maps: place in the file, bytes."""
    made: list[tuple[int, int]] = []
    read_now: Callable[[LogFile, int, int], bytes | None] = LogFile.read_now

    def noted(file: LogFile, at: int, size: int) -> bytes | None:
        made.append((at, size))
        return read_now(file, at, size)

    monkeypatch.setattr(LogFile, "read_now", noted)
    return made


def fetched(window, stored):
    return [bytes(window.fetch(each.commit_log_offset, each.size)) for each in stored]


def test_what_is_mapped_is_not_copied(opened, message, reads):
    store = opened()
    stored = put(store, *(message(body=b"%d" % n) for n in range(3)))
    log = store.files.log
    window = LogWindow(log, 0)
    assert fetched(window, stored) == [bytes(log.slice(each.commit_log_offset, each.size)) for each in stored]
    assert (window.base, window.stop, window.view) == (0, log.end, log.files[0].view)
    assert reads == []


def test_older_records_that_are_near_are_copied_together(opened, message, reads):
    store = opened()
    stored = put(store, *(message(body=b"x" * 300) for _ in range(100)))[30:]
    log, size = store.files.log, stored[0].size
    window = LogWindow(log, log.end)
    expected = [bytes(log.slice(each.commit_log_offset, size)) for each in stored]
    assert fetched(window, stored) == expected
    first, second = 4096 // size, 8192 // size  # so many are whole: twice as many bytes each time
    begins = [stored[number].commit_log_offset for number in (0, first, first + second)]
    assert reads == [(begins[0], 4096), (begins[1], 8192), (begins[2], log.end - begins[2])]
    assert window.stop == log.end
    reads.clear()
    assert window.fetch(begins[0], size) == expected[0]  # far away
    assert reads == [(begins[0], 4096)]


def test_what_memory_does_not_hold(opened, message, monkeypatch):
    store = opened()
    stored = put(store, *(message() for _ in range(3)))
    log = store.files.log
    monkeypatch.setattr(LogFile, "read_now", lambda file, at, size: None)
    window = LogWindow(log, log.end)
    with pytest.raises(WaitsForDisk):
        window.fetch(0, stored[0].size)
    small = LogFile.read_now
    monkeypatch.setattr(
        LogFile,
        "read_now",
        lambda file, at, size: file.view[at : at + size] if size < 1000 else small(file, at, size),
    )
    put(store, *(message(body=b"x" * 2000) for _ in range(3)))
    assert bytes(window.fetch(0, stored[0].size)) == bytes(log.slice(0, stored[0].size))
    assert (window.base, window.stop) == (0, stored[0].size)  # no more than is needed


def test_there_is_nothing_behind_the_log(opened, message):
    store = opened()
    put(store, message())
    window = LogWindow(store.files.log, 0)
    assert window.fetch(store.files.log.end, 100) is None
    assert window.fetch(1 << 40, 100) is None


def test_only_a_filter_that_can_looks_ahead(opened, message):
    class Ahead:
        def __init__(self):
            self.asked = []

        def __call__(self, record):
            return True

        def look_ahead(self, *arguments):
            self.asked.append(arguments)
            return 1, 7

    store, ahead = opened(), Ahead()
    put(store, message(), message(topic="u", queue_id=3))
    log = store.files.log
    window = LogWindow(log, 0)
    assert window.ahead(record_filter(lambda properties: True), b"", 0, (1, 1)) is None
    look = window.ahead(ahead, b"entries", 3, (32, 1000))
    assert window.fetch(0, 50) is not None
    assert look(5, [(0, 1, 2)], 2) == (1, 7)
    view = (log.files[0].view, 0, log.end)
    assert ahead.asked == [(5, [(0, 1, 2)], 2, b"entries", (32, 1000), 3, 0, view)]
