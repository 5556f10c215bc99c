"""The files of the commit log: turns to the next one, sizes, disk space."""

from __future__ import annotations

import errno
import os
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest
from stores import bodies, put

from mqframe.core.errors import MessageError, StoreError, StoreUnavailable
from mqframe.store.files.log_file import LogFile, allocate_really
from mqframe.store.log.commit_log import CommitLog


def test_files_end_with_a_blank_marker(opened, message, tmp_path):
    store = opened(commit_log_file_bytes=4096)
    stored = put(store, *(message(body=bytes([n]) * 900) for n in range(9)))
    assert stored[4].commit_log_offset == 4096
    left = 4096 - stored[3].end_offset
    raw = (tmp_path / "store/commitlog/00000000000000000000").read_bytes()
    assert struct.unpack_from(">ii", raw, stored[3].end_offset) == (left, -875286124)
    found = store.reads.get("t", 0, 0, 32)
    assert bodies(found) == [bytes([n]) * 900 for n in range(9)]
    assert [len(part) for part in found.parts] == [stored[0].size * 4, stored[0].size * 4, stored[0].size]


def test_missing_descriptors_are_no_full_disk(opened, message):
    starved = [False]

    def allocate(descriptor, size):
        if starved[0]:
            raise OSError(errno.EMFILE, "Too many open files")
        os.posix_fallocate(descriptor, 0, size)

    store = opened(commit_log_file_bytes=4096, options={"allocate": allocate})
    put(store, message())
    starved[0] = True
    with pytest.raises(StoreUnavailable, match=r"Too many open files; .*ulimit -n") as caught:
        put(store, *(message(body=b"x" * 900) for _ in range(20)))
    assert "disk space" not in str(caught.value)
    starved[0] = False
    put(store, message(body=b"x" * 900))


def test_disk_full_at_allocation(opened, message, tmp_path):
    space = [3]

    def allocate(descriptor, size):
        if size == 4096:
            if not space[0]:
                raise OSError(errno.ENOSPC, "No space left on device")
            space[0] -= 1
        os.posix_fallocate(descriptor, 0, size)

    store = opened(commit_log_file_bytes=4096, options={"allocate": allocate})
    accepted = []
    for n in range(12):
        accepted += put(store, message(body=b"%03d" % n * 300))
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"No space left on device; free some disk space"):
            store.writes.put(message(body=b"x" * 900))
    assert len(accepted) == 12
    # What still fits the file is taken.
    space[0] = 1
    put(store, message(body=b"later" * 200))
    assert bodies(store.reads.get("t", 0, 0, 99)) == [b"%03d" % n * 300 for n in range(12)] + [b"later" * 200]
    assert not list(tmp_path.rglob("*.allocating"))


def test_other_file_size_is_refused(opened, message, tmp_path):
    store = opened()
    put(store, message())
    store.abandon()
    with pytest.raises(StoreError, match=r"has 1048576 bytes, the setting says 4096: set the file size"):
        opened(commit_log_file_bytes=4096)


FILE = 4096


@pytest.fixture
def pool():
    with ThreadPoolExecutor(1) as made:
        yield made


@pytest.fixture
def log(tmp_path, pool):
    made = CommitLog(tmp_path, FILE, allocate_really, pool)
    yield made
    made.drop_ahead()
    made.close()


def append(log: CommitLog, data: bytes) -> int:
    file = log.room(len(data))
    at = log.end
    file.write(at - file.base, data)
    log.end += len(data)
    return at


def test_slices_and_files_by_offset(log, tmp_path) -> None:
    places = [append(log, bytes([n]) * 1000) for n in range(5)]
    assert places == [0, 1000, 2000, 3000, 4096]
    assert [bytes(log.slice(at, 1000) or b"")[:1] for at in places] == [bytes([n]) for n in range(5)]
    assert log.slice(4096, 1001) is None  # behind the end
    assert log.slice(3500, 600) is None  # over two files
    assert [file and file.base for file in map(log.file_at, (0, 4095, 4096, 8192, -1))] == [
        0, 0, 4096, None, None,
    ]  # fmt: skip


def test_a_record_leaves_room_for_the_marker_of_the_end(log) -> None:
    assert append(log, bytes(FILE - 8)) == 0
    assert append(log, b"next") == FILE
    with pytest.raises(MessageError, match="does not fit"):
        log.room(FILE - 7)
    assert log.end == FILE + 4


def test_the_next_file_is_made_ahead_and_dropped_when_it_was_not_needed(log, tmp_path) -> None:
    append(log, b"first")
    log.keep_ahead = True
    log.allocate_ahead()
    log.allocate_ahead()
    assert append(log, bytes(FILE - 8)) == FILE
    log.drop_ahead()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{0:020d}", f"{FILE:020d}"]


def test_a_file_made_ahead_stays_when_the_process_is_killed(log, tmp_path) -> None:
    append(log, b"first")
    log.allocate_ahead()
    log.forget_ahead()
    assert (tmp_path / f"{FILE:020d}").read_bytes() == bytes(FILE)


def test_cut_the_rest_of_the_file_is_zeros_and_later_files_go(log, tmp_path) -> None:
    for n in range(9):
        append(log, bytes([n + 1]) * 1000)
    log.cut(1500)
    assert (log.end, log.flushed, len(log.files)) == (1500, 1500, 1)
    assert bytes(log.files[0].view) == b"\1" * 1000 + b"\2" * 500 + bytes(FILE - 1500)
    assert [path.name for path in tmp_path.iterdir()] == [f"{0:020d}"]
    assert append(log, b"x") == 1500
    log.cut(0)
    assert (log.files, log.end) == ([], 0)


def test_the_oldest_files_leave_the_log_before_the_disk(log, tmp_path) -> None:
    for _ in range(9):
        append(log, bytes(1000))
    gone = log.remove_oldest(2)
    assert ([file.base for file in gone], log.start) == ([0, FILE], 2 * FILE)
    assert len(list(tmp_path.iterdir())) == 3
    for file in gone:
        file.remove()
    assert log.slice(0, 10) is None


def test_only_files_with_something_new_are_synced(log, monkeypatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(LogFile, "sync", lambda self: synced.append(self.base))
    for _ in range(9):
        append(log, bytes(1000))
    log.flushed = FILE + 100
    log.sync_to(2 * FILE)
    assert synced == [FILE]
    log.sync_to(log.end)
    assert synced == [FILE, FILE, 2 * FILE]


def test_room_that_was_missing_is_looked_for_again(tmp_path, pool) -> None:
    full = [False]

    def allocate(descriptor: int, size: int) -> None:
        if full[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        allocate_really(descriptor, size)

    log = CommitLog(tmp_path, FILE, allocate, pool)
    append(log, b"first")
    full[0] = True
    log.allocate_ahead()
    pool.submit(lambda: None).result()
    log.look_for_room()
    assert (log.no_room, log.is_short) == (None, True)  # what fits the present file is taken
    with pytest.raises(StoreUnavailable):
        append(log, bytes(FILE - 8))
    for _ in range(3):
        log.look_for_room()
        pool.submit(lambda: None).result()
        assert "No space left" in str(log.no_room)
    full[0] = False
    for _ in range(2):
        log.look_for_room()
        pool.submit(lambda: None).result()
    log.look_for_room()
    assert (log.no_room, log.is_short) == (None, False)
    assert append(log, bytes(FILE - 8)) == FILE
    log.close()
