"""Records whose heads contradict queues, as a start meets them."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from mqframe.core.storage.record import decode_records
from mqframe.store.message_store import MessageStore
from mqframe.store.upkeep.contradictions import NOTED_MAX, Misplaced, Notes

FILE = 1 << 14
COUNT = 40
QUEUE_ID, QUEUE_OFFSET, FLAG, TOPIC = 12, 20, 36, -6
HEADS = [
    (QUEUE_ID, 0x80),  # negative
    (QUEUE_ID + 3, 0x01),  # of another queue
    (QUEUE_ID + 3, 0x08),  # of a queue that there is none of
    (QUEUE_OFFSET, 0x80),
    (QUEUE_OFFSET + 7, 0x01),
    (QUEUE_OFFSET + 7, 0x40),
    (FLAG + 3, 0x04),  # prepared
    (TOPIC, 0x02),  # t becomes v
]


@pytest.fixture
def filled(opened, message, tmp_path):
    """A store of messages to queues 0 and 1 in turns, killed or stopped; where the records start."""

    def fill(*, kill: bool = True) -> list[int]:
        store = opened(commit_log_file_bytes=FILE)
        places = [
            store.writes.put(message("t", number % 2, b"%d" % number, TAGS="a")).commit_log_offset
            for number in range(COUNT)
        ]
        store.dispatch.now()
        if kill:
            store.abandon()
        else:
            asyncio.run(store.stop())
        return [*places, store.log.max_offset]

    return fill


@pytest.fixture
def flip(tmp_path):
    """Damages a byte of a record; a negative one counts from behind its body's end."""

    def change(place: int, end: int, byte: int, mask: int) -> None:
        path = tmp_path / "store" / "commitlog" / f"{place - place % FILE:020d}"
        raw = bytearray(path.read_bytes())
        if byte < 0:  # the topic, of one letter, before the properties
            byte = raw.index(b"\x01t\x00", place % FILE, place % FILE + end - place) + 1 - place % FILE
        raw[place % FILE + byte] ^= mask
        path.write_bytes(raw)

    return change


def held(store: MessageStore, queue_id: int) -> list[tuple[int, int, str, bytes]]:
    """Queue offset, queue id, topic and body of each message of a queue, as consumers get them."""
    found, offset = [], store.queues.min_offset("t", queue_id)
    while offset < store.queues.max_offset("t", queue_id):
        got = store.reads.get("t", queue_id, offset, 999)
        for part in got.parts:
            found += [(m.queue_offset, m.queue_id, m.topic, m.body) for m in decode_records(part)]
        offset = got.next_offset
    return found


def expected(queue_id: int, without: int = -1) -> list[tuple[int, int, str, bytes]]:
    return [
        (number // 2, queue_id, "t", b"%d" % number)
        for number in range(queue_id, COUNT, 2)
        if number != without
    ]


def heads(store: MessageStore) -> tuple[str, str]:
    counters = store.damage.counters()
    return counters["damagedHeads"], counters["lostHeads"]


@pytest.mark.parametrize("number", [0, 1, 2, 20, 21, COUNT - 2, COUNT - 1])
@pytest.mark.parametrize(("byte", "mask"), HEADS)
def test_after_a_kill_a_damaged_head_is_put_right_by_its_queue(
    opened, message, filled, flip, caplog, number, byte, mask
):
    places = filled()
    flip(places[number], places[number + 1], byte, mask)
    store = opened(commit_log_file_bytes=FILE)
    assert [held(store, queue_id) for queue_id in (0, 1)] == [expected(0), expected(1)]
    assert sorted(store.queues) == [("t", 0), ("t", 1)]
    assert heads(store) == ("1", "0")
    assert store.damage.counters()["lostEntries"] == "0"
    (line,) = [line for line in caplog.messages if "head of a record" in line]
    assert f"topic='t' queue={number % 2} offset={number // 2}" in line
    assert f"log_offset={places[number]}" in line
    assert store.writes.put(message("t", number % 2)).queue_offset == COUNT // 2
    store.abandon()
    store = opened(commit_log_file_bytes=FILE)
    assert heads(store) == ("0", "0")
    assert [len(held(store, queue_id)) for queue_id in (0, 1)] == [20 + 1 - number % 2, 20 + number % 2]


@pytest.mark.parametrize("number", [0, 21, COUNT - 1])
@pytest.mark.parametrize(("byte", "mask"), HEADS)
def test_after_an_orderly_stop_the_start_or_a_read_does(opened, filled, flip, number, byte, mask):
    places = filled(kill=False)
    flip(places[number], places[number + 1], byte, mask)
    store = opened(commit_log_file_bytes=FILE)
    assert [held(store, queue_id) for queue_id in (0, 1)] == [expected(0), expected(1)]
    assert heads(store) == ("1", "0")
    assert store.damage.counters()["lostEntries"] == "0"


@pytest.mark.parametrize(("byte", "mask"), HEADS)
def test_where_no_queue_knows_better_it_is_told_and_counted(
    opened, filled, flip, tmp_path, caplog, byte, mask
):
    places = filled()
    flip(places[20], places[21], byte, mask)
    shutil.rmtree(tmp_path / "store" / "consumequeue")
    store = opened(commit_log_file_bytes=FILE)
    assert held(store, 0) == expected(0, without=20)
    assert [each for each in held(store, 1) if each[3] != b"20"] == expected(1)
    counters = store.damage.counters()
    assert (counters["damagedEntries"], counters["lostEntries"]) == ("1", "1")
    (line,) = [line for line in caplog.messages if "no record for offsets" in line]
    assert "topic='t' queue=0 first=10 last=10" in line
    if byte in (QUEUE_ID, QUEUE_OFFSET):
        assert heads(store) == ("1", "1")
        (line,) = [line for line in caplog.messages if "no queue lists the record" in line]
        assert f"log_offset={places[20]} topic='t'" in line


def test_an_entry_that_names_another_s_record_is_wrong_and_not_the_record(opened, filled, tmp_path):
    filled()
    path = tmp_path / "store" / "consumequeue" / "t" / "0" / f"{0:020d}"
    raw = bytearray(path.read_bytes())
    raw[10 * 20 : 11 * 20] = raw[3 * 20 : 4 * 20]
    path.write_bytes(raw)
    store = opened(commit_log_file_bytes=FILE)
    assert [held(store, queue_id) for queue_id in (0, 1)] == [expected(0), expected(1)]
    assert heads(store) == ("0", "0")


@pytest.mark.parametrize("kill", [True, False])
@pytest.mark.parametrize(("first", "count"), [(0, 20), (0, 7), (5, 7), (13, 7)])
@pytest.mark.parametrize("both", [True, False])
def test_parts_of_queues_in_each_other_s_place_change_no_record(
    opened, filled, tmp_path, kill, first, count, both
):
    filled(kill=kill)
    queues = [tmp_path / "store" / "consumequeue" / "t" / name / f"{0:020d}" for name in "01"]
    log = b"".join(path.read_bytes() for path in sorted((tmp_path / "store" / "commitlog").iterdir()))
    raw = [bytearray(path.read_bytes()) for path in queues]
    part = slice(first * 20, (first + count) * 20)
    former = bytes(raw[0][part])
    raw[0][part] = raw[1][part]
    raw[1][part] = former if both else bytes(count * 20)  # a write that went to the wrong place
    for path, content in zip(queues, raw, strict=True):
        path.write_bytes(content)
    store = opened(commit_log_file_bytes=FILE)
    assert [held(store, queue_id) for queue_id in (0, 1)] == [expected(0), expected(1)]
    assert heads(store) == ("0", "0")
    now = b"".join(path.read_bytes() for path in sorted((tmp_path / "store" / "commitlog").iterdir()))
    assert now[: len(log)] == log[: len(now)]


def test_a_tag_that_is_not_what_the_queue_had_is_told_and_counted(opened, filled, tmp_path, caplog):
    places = filled()
    path = tmp_path / "store" / "commitlog" / f"{0:020d}"
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"TAGS\x01a", places[20]) + 5] ^= 2
    path.write_bytes(raw)
    store = opened(commit_log_file_bytes=FILE)
    assert held(store, 0) == expected(0)
    counters = store.damage.counters()
    assert (counters["damagedEntries"], counters["lostEntries"], heads(store)) == ("1", "0", ("0", "0"))
    (line,) = [line for line in caplog.messages if "the tag of a record" in line]
    assert f"topic='t' queue=0 offset=10 log_offset={places[20]}" in line


def test_what_a_report_has_is_no_news(opened, filled, flip, caplog):
    places = filled()
    flip(places[20], places[21], 88, 0xFF)  # the body
    store = opened(commit_log_file_bytes=FILE)
    assert held(store, 0) == expected(0, without=20)
    store.abandon()
    store = opened(commit_log_file_bytes=FILE)
    assert held(store, 0) == expected(0, without=20)
    assert "no record for offsets" not in caplog.text
    assert store.damage.counters()["setAsideMessages"] == "1"


def test_notes_are_bounded_and_go_on_counting(opened, filled):
    filled()
    notes = Notes()
    for number in range(NOTED_MAX + 3):
        notes.misplace(Misplaced(number, "t", -1, 0))
    assert (len(notes.misplaced), notes.misplaced_more) == (NOTED_MAX, 3)
