"""One consume queue: entries over several files."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from stores import bodies, put

from mqframe.store.files.descriptors import Descriptors
from mqframe.store.queues.consume_queue import ENTRY, FILLER, ConsumeQueue


def test_queue_over_several_files(opened, message):
    store = opened(queue_file_bytes=100)
    put(store, *(message(body=b"%d" % n) for n in range(13)))
    assert bodies(store.reads.get("t", 0, 3, 9)) == [b"3", b"4"]
    assert [store.queues.store_time_at("t", 0, n) is not None for n in (0, 12, 13)] == [True, True, False]
    assert bodies(store.reads.get("t", 0, 12, 9)) == [b"12"]


FILE_ENTRIES = 4


class Queue(RuleBasedStateMachine):
    """A queue of small files beside a plain list of its entries."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.descriptors = Descriptors(2)
        self.queue = self.made()
        self.entries: list[tuple[int, int, int]] = []
        self.log_end = 0

    def made(self) -> ConsumeQueue:
        return ConsumeQueue(self.folder.name, "t", 3, FILE_ENTRIES * ENTRY.size, self.descriptors)

    @rule(sizes=st.lists(st.integers(1, 100), min_size=1, max_size=9), code=st.integers(-9, 9))
    def append(self, sizes: list[int], code: int) -> None:
        added = []
        for size in sizes:
            added.append((self.log_end, size, code))
            self.log_end += size
        self.queue.write(self.queue.end, b"".join(ENTRY.pack(*entry) for entry in added), self.log_end)
        self.entries += added

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def cut(self, data: st.DataObject) -> None:
        end = data.draw(st.integers(0, len(self.entries)))
        del self.entries[end:]
        self.log_end = sum(self.entries[-1][:2]) if self.entries else 0
        self.queue.cut(end, self.log_end)

    @rule()
    def open_again(self) -> None:
        known = (list(self.queue.bases), *self.queue.floor, self.queue.end, self.queue.covered)
        self.descriptors.close()
        self.queue = self.made()
        self.queue.restore(*known)

    @invariant()
    def it_holds_the_entries(self) -> None:
        queue = self.queue
        assert (queue.end, queue.next_offset, queue.covered) == (
            len(self.entries), len(self.entries), self.log_end,
        )  # fmt: skip
        assert [queue.entry(n) for n in range(len(self.entries) + 1)] == [*self.entries, None]
        for offset in range(len(self.entries)):
            raw = queue.read(offset, 99)
            in_file = self.entries[offset : offset - offset % FILE_ENTRIES + FILE_ENTRIES]
            assert list(ENTRY.iter_unpack(raw)) == in_file
            assert queue.read_elsewhere(offset, 99) == raw
        assert queue.min_offset(0) == 0

    def teardown(self) -> None:
        self.descriptors.close()
        self.folder.cleanup()


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)


@pytest.fixture
def queue(tmp_path):
    """Entry n lies at log offset 10 n; 4 entries a file."""
    descriptors = Descriptors(8)
    made = ConsumeQueue(tmp_path, "t", 0, FILE_ENTRIES * ENTRY.size, descriptors)
    yield made
    descriptors.close()


def fill(queue: ConsumeQueue, first: int, count: int) -> None:
    entries = b"".join(ENTRY.pack(10 * n, 10, 0) for n in range(first, first + count))
    queue.write(first, entries, 10 * (first + count))


def test_the_first_kept_message_follows_the_start_of_the_log(queue) -> None:
    fill(queue, 0, 10)
    assert [queue.min_offset(start) for start in (0, 10, 55, 90, 91)] == [0, 1, 6, 9, 10]


def test_files_before_the_start_of_the_log_go_but_never_the_last(queue, tmp_path) -> None:
    fill(queue, 0, 10)
    assert queue.drop_files_before(30) == 0
    assert queue.drop_files_before(50) == 1
    assert queue.min_offset(50) == 5
    assert queue.drop_files_before(1000) == 1
    assert [path.name for path in (tmp_path / "t/0").iterdir()] == [f"{160:020d}"]
    assert queue.entry(7) is None
    assert queue.entry(8) == (80, 10, 0)


def test_a_queue_that_begins_in_the_middle_is_filled_up_to_there(queue, tmp_path) -> None:
    fill(queue, 6, 2)
    raw = (tmp_path / "t/0" / f"{80:020d}").read_bytes()
    assert raw == FILLER * 2 + ENTRY.pack(60, 10, 0) + ENTRY.pack(70, 10, 0)
    assert queue.min_offset(1) == 6
    assert (queue.end, queue.covered) == (8, 80)


def test_over_a_gap_of_whole_files_it_starts_anew(queue, tmp_path) -> None:
    fill(queue, 0, 2)
    fill(queue, 13, 1)
    assert [path.name for path in (tmp_path / "t/0").iterdir()] == [f"{240:020d}"]
    assert queue.entry(13) == (130, 10, 0)
    assert queue.read(0, 1) == b""


def test_dirty_files_are_named_once(queue, tmp_path) -> None:
    fill(queue, 0, 5)
    assert queue.dirty_bytes == 100
    assert queue.dirty_paths() == [queue.path(0), queue.path(80)]
    fill(queue, 5, 1)
    assert queue.dirty_paths() == [queue.path(80)]
    assert queue.dirty_bytes == 0


def test_a_removed_queue_leaves_no_folder(queue, tmp_path) -> None:
    fill(queue, 0, 5)
    queue.remove()
    assert not (tmp_path / "t/0").exists()
    assert (queue.end, queue.bases) == (0, [])
    fill(queue, 0, 1)
    assert queue.entry(0) == (0, 10, 0)


FILE = 200


def test_fillers_between_records_hide_nothing(tmp_path):
    queue = ConsumeQueue(tmp_path, "t", 0, FILE, Descriptors(10))
    for offset in range(FILE // 20 * 3):
        queue.write(offset, ENTRY.pack(1000 + offset * 100, 100, 0), 1100 + offset * 100)
    per_file = FILE // 20
    for offset in (0, 1, per_file // 2, per_file - 1, per_file, per_file + 3):
        queue.blot(offset, offset + 1)
    assert queue.min_offset(1) == 2
    for offset in range(2, per_file * 3):
        first = queue.first_from(1000 + offset * 100, 0)
        assert first == min(n for n in range(offset, per_file * 3) if queue.entry(n)[1] == 100)
    assert queue.listed_within(1000 + 3 * 100, 1000 + 5 * 100) == (3, 5)
    # The last entry of the first file is a filler; entries before it are still wanted.
    assert queue.drop_files_before(1000 + (per_file - 2) * 100) == 0
    assert queue.drop_files_before(1000 + (per_file - 1) * 100) == 1


def test_a_message_at_an_offset_that_was_given_away_before_is_not_hidden(tmp_path):
    queue = ConsumeQueue(str(tmp_path), "t", 3, FILE_ENTRIES * ENTRY.size, Descriptors(2))
    queue.write(0, FILLER, 0)
    queue.raise_to(3)
    assert queue.min_offset(100) == 3
    queue.write(0, ENTRY.pack(100, 10, 1), 110)
    queue.write(1, ENTRY.pack(110, 10, 1), 120)
    assert queue.min_offset(100) == 0
    assert [queue.entry(0), queue.entry(1)] == [(100, 10, 1), (110, 10, 1)]
    assert queue.end == 3
    never = ConsumeQueue(str(tmp_path), "t", 4, FILE_ENTRIES * ENTRY.size, Descriptors(2))
    never.raise_to(2)
    assert never.min_offset(100) == 2
    never.write(0, ENTRY.pack(120, 10, 1), 130)
    assert never.min_offset(100) == 0
    assert never.entry(0) == (120, 10, 1)


def test_a_queue_of_fillers_has_nothing_from_anywhere(tmp_path):
    queue = ConsumeQueue(tmp_path, "t", 0, FILE, Descriptors(10))
    queue.write(0, ENTRY.pack(0, 100, 0), 100)
    queue.blot(0, 1)
    assert queue.listed_from(0) is None
    assert queue.first_from(0, 0) == 1


@pytest.mark.parametrize("lost", [range(5), range(3, 4), range(10, 20), range(29, 30)])
def test_entries_that_were_lost_hide_none_behind_them(tmp_path, lost):
    queue = ConsumeQueue(tmp_path, "t", 0, FILE, Descriptors(10))
    for offset in range(30):
        queue.write(offset, ENTRY.pack(1000 + offset * 100, 100, 0), 1100 + offset * 100)
    for offset in lost:
        queue.write(offset, bytes(20), 0)
    for offset in range(30):
        first = queue.first_from(1000 + offset * 100, 0)
        assert first == next((n for n in range(offset, 30) if n not in lost), 30)
