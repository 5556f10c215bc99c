"""The bounded cache of open files."""

from __future__ import annotations

import os

import pytest
from file_calls import instead

from mqframe.store.files.descriptors import Descriptors, write_all


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def test_the_file_unused_for_longest_is_closed_first(tmp_path) -> None:
    cache = Descriptors(2)
    paths = [str(tmp_path / name) for name in "abc"]
    first, second = cache.get(paths[0], 10), cache.get(paths[1], 10)
    assert cache.get(paths[0]) == first
    third = cache.get(paths[2], 10)
    # The number of the closed one may be used again: what is behind it tells.
    assert third == second or not is_open(second)
    assert os.path.samestat(os.fstat(first), os.stat(paths[0]))
    assert os.path.samestat(os.fstat(cache.get(paths[2])), os.stat(paths[2]))
    cache.close()
    assert not is_open(first)


def test_a_missing_file_is_made_sparse_in_its_folder_or_is_an_error(tmp_path) -> None:
    cache = Descriptors(4)
    path = tmp_path / "topic" / "0" / "file"
    with pytest.raises(FileNotFoundError):
        cache.get(str(path))
    descriptor = cache.get(str(path), 1 << 20)
    assert (path.stat().st_size, path.stat().st_blocks) == (1 << 20, 0)
    cache.forget(str(path))
    assert not is_open(descriptor)
    cache.forget(str(path))
    path.write_bytes(b"short")
    cache.get(str(path), 10)
    assert path.read_bytes() == b"short" + bytes(5)
    cache.close()


def test_a_write_goes_on_until_all_is_written(tmp_path, monkeypatch) -> None:
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    instead(monkeypatch, tmp_path, "pwrite", lambda pwrite, where, data, at: pwrite(where, data[:3], at))
    write_all(descriptor, b"0123456789", 2)
    os.close(descriptor)
    assert (tmp_path / "file").read_bytes() == b"\0\x000123456789"
