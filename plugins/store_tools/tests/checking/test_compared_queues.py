"""Entries that belong in a queue are compared with those that are there; nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from mqframe_store_tools.checking.compared_queues import ComparedQueue, ComparedQueues, entry_text

from mqframe.store.files.layout import Layout
from mqframe.store.queues.consume_queue import ENTRY, FILLER
from mqframe.store.queues.deleted_topics import DeletedTopics

ROWS = [ENTRY.pack(number * 100, 100, 7) for number in range(10)]


@pytest.fixture
def queue(tmp_path: Path) -> ComparedQueue:
    """Queue 0 of t: seven entries in files of four."""
    folder = tmp_path / "consumequeue" / "t" / "0"
    folder.mkdir(parents=True)
    (folder / f"{0:020d}").write_bytes(b"".join(ROWS[:4]))
    (folder / f"{80:020d}").write_bytes(b"".join(ROWS[4:7]) + bytes(20))
    queues = ComparedQueues(Layout(tmp_path), 80, DeletedTopics(tmp_path / "none"))
    (found,) = queues.find(tmp_path / "consumequeue")
    return found


def test_ends(queue: ComparedQueue) -> None:
    assert (queue.bases, queue.end, queue.covered) == ([0, 80], 7, 700)


def test_what_is_right_makes_no_difference(queue: ComparedQueue) -> None:
    assert queue.enter(0, b"".join(ROWS[:7]), 700) is False
    assert (queue.differences, queue.taken_end) == ([], 7)
    assert queue.ahead(0) == []


def test_neighbours_are_told_together(queue: ComparedQueue) -> None:
    queue.enter(2, b"".join(ROWS[3:6]) + ROWS[5], 700)
    assert [(each.first, each.end, each.found, each.expected) for each in queue.differences] == [
        (2, 5, ROWS[2], ROWS[3])
    ]


def test_what_is_missing_is_empty(queue: ComparedQueue) -> None:
    queue.enter(5, b"".join(ROWS[5:10]), 1000)
    assert [(each.first, each.end, any(each.found)) for each in queue.differences] == [(7, 10, False)]


def test_what_lies_behind_the_log_is_ahead(queue: ComparedQueue) -> None:
    queue.enter(0, b"".join(ROWS[:5]), 500)
    assert [(each.first, each.end) for each in queue.ahead(0)] == [(5, 7)]


def test_a_queue_whose_records_are_gone_is_not_ahead(queue: ComparedQueue) -> None:
    assert queue.ahead(700) == []
    assert [(each.first, each.end) for each in queue.ahead(600)] == [(6, 7)]


def test_a_topic_made_anew_forgets_what_it_said_before(queue: ComparedQueue) -> None:
    queue.enter(0, b"".join(reversed(ROWS)), 1000)
    assert queue.differences
    queue.cut(0, 0)
    assert queue.differences == []
    queue.enter(0, b"".join(ROWS[:7]), 700)
    assert queue.differences == []


def test_places_and_words(queue: ComparedQueue) -> None:
    path, at = queue.place(5)
    assert (path.name, at) == (f"{80:020d}", 20)
    assert entry_text(ROWS[3]) == "log offset 300, 100 bytes, tags code 7"
    assert entry_text(FILLER) == "a filler"
    assert entry_text(bytes(20)) == "nothing"
