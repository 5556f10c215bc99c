"""Records of the log entered once more."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from mqframe.core.messages.names import SCHEDULE_TOPIC
from mqframe.core.storage.log_reading import LogReading, LogRuns
from mqframe.core.storage.log_scan import LogRecord
from mqframe.store.queues.consume_queue import ENTRY, FILLER
from mqframe.store.queues.deleted_topics import DeletedTopics
from mqframe.store.queues.queue_table import QueueTable
from mqframe.store.upkeep.redispatch import Redispatch


@pytest.fixture
def table(tmp_path):
    made = QueueTable(tmp_path / "queues", 5 * ENTRY.size, 8, DeletedTopics(tmp_path / "deleted"))
    yield made
    made.close()


def entered(table, *offsets: int, whole: bool = True, sys_flag: int = 0) -> None:
    """After records with these queue offsets, one behind the other, were taken."""
    redispatch = Redispatch(table, None, ())
    for number, offset in enumerate(offsets):
        redispatch.take([LogRecord(100 * number, 100, "t", 0, offset, sys_flag, 1, "")])
    redispatch.finish(0, whole)


def listed(table) -> list[int | None]:
    """The number of the record at each offset; `None` for a filler."""
    queue = table.queue("t", 0)
    raw = b"".join(queue.read(offset, 1) for offset in range(queue.end))
    entries = [raw[at : at + 20] for at in range(0, len(raw), 20)]
    return [None if entry == FILLER else ENTRY.unpack(entry)[0] // 100 for entry in entries]


def test_what_is_there_is_not_written_again(table) -> None:
    entered(table, *range(12))
    assert listed(table) == list(range(12))
    assert len(table.dirty) == 1
    table.dirty.clear()
    entered(table, *range(12))
    assert table.dirty == set()


def test_what_is_wrong_is_written(table) -> None:
    entered(table, *range(12))
    table.queue("t", 0).write(3, ENTRY.pack(7, 7, 7) * 4, 0)
    entered(table, *range(12))
    assert listed(table) == list(range(12))


def test_entries_behind_the_last_record_go(table) -> None:
    entered(table, *range(12))
    entered(table, *range(8))
    assert (listed(table), table.queue("t", 0).covered) == (list(range(8)), 800)


def test_a_gap_that_the_log_lost_is_filled(table) -> None:
    entered(table, *range(12))
    redispatch = Redispatch(table, None, ())
    for offset in (*range(4), *range(7, 12)):
        redispatch.take([LogRecord(100 * offset, 100, "t", 0, offset, 0, 1, "")])
    redispatch.finish(0, whole=True)
    assert listed(table) == [0, 1, 2, 3, None, None, None, 7, 8, 9, 10, 11]


def test_a_topic_made_anew_begins_again(table) -> None:
    entered(table, *range(9), 0, 1, 2)
    assert listed(table) == [9, 10, 11]
    entered(table, *range(9), 0)
    assert listed(table) == [9]


@pytest.mark.parametrize("wrong", [0, 2, 7, 1 << 40, -3])
def test_one_record_with_a_wrong_offset_is_left_out(table, wrong) -> None:
    entered(table, 0, 1, 2, 3, wrong, 5, 6, 7, 8)
    found = listed(table)
    assert found[:4] == [0, 1, 2, 3]
    assert found[5:] == [5, 6, 7, 8]


@pytest.mark.parametrize("wrong", [1 << 40, 300, 6, 1, 0])
@pytest.mark.parametrize("known", [False, True])
def test_a_first_record_with_a_wrong_offset_leads_no_other_astray(table, known, wrong) -> None:
    if known:
        entered(table, *range(12))
    redispatch = Redispatch(table, None, ())
    for number, offset in enumerate((wrong, *range(8, 12)), 7):
        redispatch.take([LogRecord(100 * number, 100, "t", 0, offset, 0, 1, "")])
    redispatch.finish(700, whole=True)
    assert (listed(table)[-4:], table.queue("t", 0).end) == ([8, 9, 10, 11], 12)


@pytest.mark.parametrize("wrong", [1 << 40, 300, 6])
def test_a_first_record_that_is_listed_stays_whatever_the_next_one_says(table, wrong) -> None:
    entered(table, *range(12))
    redispatch = Redispatch(table, None, ())
    for number, offset in enumerate((8, wrong, 10, 11), 8):
        redispatch.take([LogRecord(100 * number, 100, "t", 0, offset, 0, 1, "")])
    redispatch.finish(800, whole=True)
    assert listed(table)[8:] == [8, None, 10, 11]


def test_one_record_alone_does_not_lead_a_queue_to_an_impossible_place(table) -> None:
    entered(table, *range(12))
    redispatch = Redispatch(table, None, ())
    redispatch.take([LogRecord(1200, 100, "t", 0, 1 << 40, 0, 1, "")])
    redispatch.finish(0, whole=False)
    assert listed(table) == list(range(12))


class Said(LogReading):
    """Says of queue 0 of t what it is told to."""

    runs: ClassVar[list[Any]] = []
    apart: ClassVar[list[Any]] = []

    def read(self, buffer, at, base, apart, *, crc):
        self.apart.append(apart)
        count = sum(len(entries) // 20 for _, _, entries, _ in self.runs)
        return LogRuns(count, 500, 400, 7, 9, self.runs, ())


def run_of(*numbers: int, topic: str = "t") -> Any:
    entries = b"".join(ENTRY.pack(100 * number, 100, 0) for number in numbers)
    return (topic, 0), numbers[0], entries, 100 * numbers[-1] + 100


def test_what_is_said_ahead_counts_where_it_goes_on_in_all_queues(table) -> None:
    table.deleted.add("gone", 0, 10)
    redispatch = Redispatch(table, None, (), Said)
    Said.runs = [run_of(2, 3)]
    assert redispatch.ahead(memoryview(b""), 0, 0, True) is None  # nothing is known of the queue yet
    for offset in range(2):
        redispatch.take([LogRecord(100 * offset, 100, "t", 0, offset, 0, 1, "")])
    said = redispatch.ahead(memoryview(b""), 0, 0, True)
    assert said is not None
    assert Said.apart[-1] == (SCHEDULE_TOPIC, "gone")
    redispatch.take([LogRecord(300, 100, "t", 0, 3, 0, 1, "")], said)
    assert redispatch.ahead(memoryview(b""), 0, 0, True) is None  # those are taken
    Said.runs = [run_of(4), run_of(0, topic="u")]
    assert redispatch.ahead(memoryview(b""), 0, 0, True) is None
    Said.runs = [run_of(4)]
    redispatch.take([LogRecord(700, 100, "t", 0, 7, 0, 1, "")])
    assert redispatch.ahead(memoryview(b""), 0, 0, True) is None  # the record before may be wrong, or a gap
    redispatch.take([LogRecord(400, 100, "t", 0, 4, 0, 1, "")])
    redispatch.finish(0, whole=True)
    assert (listed(table), table.queue("t", 0).covered) == ([0, 1, 2, 3, 4], 500)


def test_prepared_records_are_in_no_queue(table) -> None:
    entered(table, 0, 0, 0, sys_flag=4)
    assert len(table) == 0


def test_nothing_before_the_first_record_points_into_the_log(table) -> None:
    entered(table, *range(12))
    redispatch = Redispatch(table, None, ())
    for offset in range(8, 12):
        redispatch.take([LogRecord(100 * offset, 100, "t", 0, offset, 0, 1, "")])
    redispatch.finish(300, whole=True)
    assert listed(table) == [0, 1, 2, None, None, None, None, None, 8, 9, 10, 11]


def test_a_queue_of_which_the_log_has_nothing_keeps_its_end(table) -> None:
    entered(table, *range(12))
    Redispatch(table, None, ()).finish(2000, whole=True)
    assert table.queue("t", 0).end == 12
    Redispatch(table, None, ()).finish(500, whole=True)
    assert table.queue("t", 0).end == 5


@pytest.mark.parametrize(
    ("stored", "noted", "kept"),
    [
        (900, 1500, True),  # the clock was set back: store times stood still, delivery times did not
        (900, 5899, True),
        (900, 5901, False),
        (900, 0, False),
        (901, 1500, False),
    ],
)
def test_an_entry_knows_when_a_delayed_message_is_due_whose_store_time_stood_still(
    table, stored, noted, kept
) -> None:
    delayed = LogRecord(100, 100, SCHEDULE_TOPIC, 1, 0, 0, stored, "DELAY\x012\x02")
    table.queue(SCHEDULE_TOPIC, 1).write(0, ENTRY.pack(100, 100, noted), 200)
    redispatch = Redispatch(table, None, (1000, 5000))
    redispatch.take([LogRecord(0, 100, "t", 0, 0, 0, 900, "")])
    redispatch.take([delayed])
    redispatch.finish(0, whole=True)
    due = noted if kept else stored + 5000
    assert table.queue(SCHEDULE_TOPIC, 1).entry(0) == (100, 100, due)


def test_the_entry_of_another_record_knows_nothing(table) -> None:
    table.queue(SCHEDULE_TOPIC, 1).write(0, ENTRY.pack(100, 99, 1500), 200)
    redispatch = Redispatch(table, None, (1000, 5000))
    redispatch.take([LogRecord(100, 100, SCHEDULE_TOPIC, 1, 0, 0, 900, "DELAY\x012\x02")])
    redispatch.finish(0, whole=True)
    assert table.queue(SCHEDULE_TOPIC, 1).entry(0) == (100, 100, 5900)
