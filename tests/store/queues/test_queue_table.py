"""All consume queues of a store."""

from __future__ import annotations

import os
import threading

import pytest
from stores import bodies, open_below, put

from mqframe.core.errors import MessageError
from mqframe.core.storage.found import GetStatus
from mqframe.store.queues.consume_queue import ENTRY
from mqframe.store.queues.deleted_topics import DeletedTopics
from mqframe.store.queues.queue_ends import QueueEnds
from mqframe.store.queues.queue_table import QueueTable


async def test_delete_topic(opened, message, tmp_path):
    store = opened()
    put(store, message("a"), message("b"), message("a", 1))
    await store.delete_topic("a")
    assert list(store.queues) == [("b", 0)]
    assert not (tmp_path / "store/consumequeue/a").exists()
    assert store.reads.get("a", 0, 0, 1).status is GetStatus.NO_MATCHED_LOGIC_QUEUE
    assert put(store, message("a"))[0].queue_offset == 0
    assert bodies(store.reads.get("a", 0, 0, 1)) == [b"hello"]


@pytest.mark.parametrize("senders", [0, 1, 2, 9])
async def test_what_is_stored_while_a_topic_is_deleted_goes_too(opened, message, monkeypatch, senders):
    main = threading.current_thread()
    store = opened()
    put(store, message("a"), message("b"))
    add, later = DeletedTopics.add, iter(range(1, 9))
    told = []

    def interrupted(deleted, topic, log_start, log_end):
        add(deleted, topic, log_start, log_end)
        told.append(log_end)
        if (number := next(later)) <= senders and threading.current_thread() is not main:
            put(store, message("a", number, b"late"), message("b"))

    monkeypatch.setattr(DeletedTopics, "add", interrupted)
    await store.delete_topic("a")
    assert list(store.queues) == [("b", 0)]
    assert store.queues.max_offset("b", 0) == 1 + min(senders, 3)
    assert told[-1] == store.log.max_offset
    assert put(store, message("a"))[0].queue_offset == 0
    end = store.log.max_offset
    await store.stop()
    store = opened()
    assert (store.log.max_offset, store.queues.max_offset("a", 0), store.queues.max_offset("a", 1)) == (
        end,
        1,
        0,
    )
    assert bodies(store.reads.get("a", 0, 0, 9)) == [b"hello"]


def test_many_queues_within_few_descriptors(opened, message, tmp_path):
    store = opened(queue_descriptors_max=8)
    before = len(open_below(tmp_path))
    for turn in range(3):
        put(store, *(message(f"topic{n}", n % 3, b"%d" % turn) for n in range(60)))
    assert before < len(open_below(tmp_path)) <= before + 10
    for n in range(60):
        assert bodies(store.reads.get(f"topic{n}", n % 3, 0, 9)) == [b"0", b"1", b"2"]


BYTES = 5 * ENTRY.size


@pytest.fixture
def table(tmp_path):
    """Makes tables of one folder, as one process after the other opens it."""
    made: list[QueueTable] = []

    def make() -> QueueTable:
        made.append(QueueTable(tmp_path, BYTES, 8, DeletedTopics(tmp_path / "deleted")))
        return made[-1]

    yield make
    for each in made:
        each.close()


def filled(table: QueueTable, counts: dict[tuple[str, int], int]) -> QueueTable:
    for (topic, queue_id), count in counts.items():
        entries = b"".join(ENTRY.pack(10 * n, 10, 0) for n in range(count))
        table.queue(topic, queue_id).write(0, entries, 10 * count)
    return table


COUNTS = {("a", 0): 5, ("a", 2): 1, ("b", 0): 12}


def state(table: QueueTable) -> dict[tuple[str, int], tuple[int, int, list[int]]]:
    return {queue.key: (queue.end, queue.covered, queue.bases) for queue in table}


@pytest.mark.parametrize("after_crash", [False, True])
def test_ends_are_found_in_the_files(table, after_crash) -> None:
    before = state(filled(table(), COUNTS))
    again = table()
    again.load(after_crash)
    assert state(again) == before
    assert len(again) == 3


def test_ends_that_were_noted_need_no_look_at_the_files(table, tmp_path) -> None:
    first = filled(table(), COUNTS)
    ends = QueueEnds([0], 120, b"checkpoint", first.rows())
    again = table()
    again.restore_ends(ends)
    assert state(again) == state(first)
    assert again.doubts == {}
    assert [queue.floor for queue in again] == [queue.floor for queue in first]


def test_after_a_crash_a_stale_entry_ends_the_queue_and_goes(table) -> None:
    first = filled(table(), {("a", 0): 7})
    first.queue("a", 0).write(7, ENTRY.pack(30, 10, 0), 70)  # not behind the one before
    again = table()
    again.load(after_crash=True)
    assert state(again) == {("a", 0): (7, 70, [0, BYTES])}
    last = table()
    last.load(after_crash=False)
    assert state(last) == {("a", 0): (7, 70, [0, BYTES])}


@pytest.mark.parametrize(("log_end", "left"), [(200, 12), (120, 12), (119, 11), (55, 5), (0, 0)])
def test_entries_behind_the_end_of_the_log_are_cut_off(table, log_end, left) -> None:
    it = filled(table(), {("b", 0): 12})
    it.cut_after(log_end)
    assert state(it)["b", 0][:2] == (left, 10 * left)


def test_files_follow_the_start_of_the_log(table, tmp_path) -> None:
    it = filled(table(), COUNTS)
    assert it.follow_log(40) == 0
    assert it.follow_log(105) == 2
    assert sorted(path.name for path in (tmp_path / "b/0").iterdir()) == [f"{2 * BYTES:020d}"]


@pytest.mark.parametrize("noted", [False, True])
@pytest.mark.parametrize(
    ("number", "size", "doubtful"),
    [(2, 40, 10), (1, 0, 5), (0, BYTES + 1, 0), (0, None, 0), (1, None, 5), (2, None, 10)],
)
def test_files_of_another_size_and_missing_ones_are_doubted(
    table, tmp_path, number, size, doubtful, noted
) -> None:
    first = filled(table(), {("b", 0): 12})
    ends = QueueEnds([0], 120, b"", first.rows())
    path = tmp_path / "b/0" / f"{number * BYTES:020d}"
    path.unlink()
    if size is not None:
        path.write_bytes(bytes(size))
    again = table()
    if noted:
        again.restore_ends(ends)
    else:
        again.load(after_crash=True)
    (queue,) = again
    assert again.doubts == ({queue: doubtful} if noted or size is not None or number == 1 else {})


def test_what_was_noted_is_expected(table, tmp_path) -> None:
    first = filled(table(), {("a", 0): 3, ("b", 0): 12})
    ends = QueueEnds([0], 120, b"", first.rows())
    again = filled(table(), {("a", 0): 7, ("b", 0): 11})
    again.expect(ends, first_files=True)
    assert {queue.key: offset for queue, offset in again.doubts.items()} == {("b", 0): 11}
    again.doubt(again.queue("a", 0), 5)
    again.doubt(again.queue("c", 0), 0)
    again.forget_doubts_behind(ends)
    assert {queue.key: offset for queue, offset in again.doubts.items()} == {("b", 0): 11}


def test_without_a_log_all_queues_go(table, tmp_path) -> None:
    it = filled(table(), COUNTS)
    it.clear()
    assert len(it) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("topic", ["..", "a/b", "x" * 300, ""])
def test_no_queue_lies_outside_the_stores_folder(tmp_path, topic) -> None:
    table = QueueTable(tmp_path / "queues", BYTES, 8, DeletedTopics(tmp_path / "deleted"))
    outside = tmp_path / "empty"
    outside.mkdir()
    with pytest.raises(MessageError, match=r"topic .* cannot name a folder"):
        table.queue(topic, 0)
    for name in (topic, "../empty", str(outside)):
        with pytest.raises(MessageError, match="cannot name a folder"):
            table.remove_topic(name)
    assert outside.is_dir()
    assert len(table) == 0


@pytest.mark.parametrize("queue_id", [-1, 1 << 31])
def test_no_queue_has_an_id_that_records_do_not_hold(table, queue_id) -> None:
    with pytest.raises(MessageError, match="ids go from 0"):
        table().queue("t", queue_id)


def test_folders_and_noted_ends_without_a_legal_name_are_passed_over(table, tmp_path) -> None:
    first = filled(table(), {("t", 0): 3})
    ends = QueueEnds([0], 30, b"", first.rows())
    ends.queues["../up"] = ends.queues["t"]
    (tmp_path / os.fsdecode(b"\xff") / "0").mkdir(parents=True)
    (tmp_path / "t" / str(1 << 40)).mkdir()
    second = table()
    second.restore_ends(ends)
    assert [queue.key for queue in second] == [("t", 0)]
    third = table()
    third.load(after_crash=False)
    assert [(queue.key, queue.end) for queue in third] == [(("t", 0), 3)]


@pytest.mark.parametrize("last", [b"\0", b"\1"])
def test_zeros_where_a_queue_file_had_a_hole_are_no_entries(opened, message, tmp_path, last):
    store = opened(queue_file_bytes=400_000)
    put(store, *[message() for _ in range(3)])
    store.abandon()
    path = tmp_path / "store/consumequeue/t/0" / f"{0:020d}"
    raw = path.read_bytes()
    path.write_bytes(raw[:-1] + last)  # no hole is left
    table = QueueTable(tmp_path / "store/consumequeue", 400_000, 10, DeletedTopics(tmp_path / "none"))
    table.load(after_crash=False)
    (queue,) = table
    assert (queue.end, table.doubts) == (3, {} if last == b"\0" else {queue: 3})
    table.close()
