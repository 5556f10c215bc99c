"""One file of the commit log."""

from __future__ import annotations

import errno
import os

import pytest
from file_calls import fails, instead

from mqframe.store.files.log_file import LogFile, allocate_really


def test_a_new_file_is_allocated_zeros_under_the_name_of_its_offset(tmp_path) -> None:
    file = LogFile.create(tmp_path, 8192, 4096, allocate_really)
    assert (file.base, file.path.name, file.size) == (8192, "00000000000000008192", 4096)
    assert file.path.stat().st_blocks * 512 >= 4096
    assert bytes(file.view) == bytes(4096)
    assert [path.name for path in tmp_path.iterdir()] == [file.path.name]
    file.close()


def test_a_full_disk_leaves_nothing_behind(tmp_path) -> None:
    def full(descriptor: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        LogFile.create(tmp_path, 0, 4096, full)
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_in_the_map_and_can_be_read_without_waiting(tmp_path) -> None:
    file = LogFile.create(tmp_path, 0, 4096, allocate_really)
    file.write(100, b"record")
    assert bytes(file.view[100:106]) == b"record"
    assert file.read_now(100, 6) == b"record"
    assert file.read_now(4090, 100) is None  # not so much is there
    file.clear_from(103, allocate_really)
    assert bytes(file.view[100:106]) == b"rec\0\0\0"
    assert file.path.stat().st_size == 4096
    file.close()


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EOPNOTSUPP, errno.EINVAL])
def test_where_the_disk_would_have_to_be_waited_for_nothing_is_read(tmp_path, monkeypatch, number) -> None:
    file = LogFile.create(tmp_path, 0, 4096, allocate_really)
    instead(monkeypatch, tmp_path, "preadv", fails(number))
    assert file.read_now(0, 10) is None
    instead(monkeypatch, tmp_path, "preadv", fails(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        file.read_now(0, 10)


def test_slices_outlive_a_removed_file(tmp_path) -> None:
    file = LogFile.create(tmp_path, 0, 4096, allocate_really)
    file.write(0, b"kept")
    kept = file.view[:4]
    file.remove()
    assert list(tmp_path.iterdir()) == []
    assert bytes(kept) == b"kept"


def test_a_file_removed_while_it_is_synchronised_is_no_failure_of_the_disk(tmp_path) -> None:
    file = LogFile.create(tmp_path, 0, 4096, allocate_really)
    file.remove()
    file.sync()
    other = LogFile.create(tmp_path, 4096, 4096, allocate_really)
    other.close()
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        other.sync()
