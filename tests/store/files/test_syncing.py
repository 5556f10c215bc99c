"""Files, names and folders that are on disk when a call returns."""

from __future__ import annotations

import ctypes
import errno
import os

import pytest
from file_calls import fails, instead

from mqframe.store.files.syncing import (
    make_directories,
    sync_directory,
    sync_file_system,
    sync_really,
    write_durably,
)


def test_a_file_is_replaced_by_one_that_is_on_disk_and_so_is_its_name(tmp_path, operations) -> None:
    path = tmp_path / "abort"
    path.write_bytes(b"before")
    write_durably(path, b"after")
    assert path.read_bytes() == b"after"
    assert operations == ["fsync abort.tmp", "replace abort", "fsync ."]


def test_a_disk_that_fails_leaves_the_former_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "abort"
    path.write_bytes(b"before")

    instead(monkeypatch, tmp_path, "fsync", fails(errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        write_durably(path, b"after")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("abort", b"before")]


def test_each_folder_that_is_made_is_named_on_disk(tmp_path, operations) -> None:
    make_directories(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    assert operations == ["fsync .", "fsync a"]
    make_directories(tmp_path / "a" / "b")
    assert len(operations) == 2


def test_contents_and_folders_are_waited_for(tmp_path, operations) -> None:
    with open(tmp_path / "file", "wb") as file:
        sync_really(file.fileno())
    sync_directory(tmp_path)
    assert operations == ["fdatasync file", "fsync ."]


def test_all_of_a_file_system_can_be_waited_for(tmp_path) -> None:
    sync_file_system(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_file_system(tmp_path / "missing")


def test_an_error_of_a_file_system_is_told(tmp_path, monkeypatch) -> None:
    class Library:
        def __init__(self, *_: object, **__: object) -> None: ...

        def syncfs(self, descriptor: int) -> int:
            ctypes.set_errno(errno.EIO)
            return -1

    monkeypatch.setattr(ctypes, "CDLL", Library)
    with pytest.raises(OSError, match="Input/output error"):
        sync_file_system(tmp_path)


def test_where_there_is_no_such_call_everything_is_synced(tmp_path, monkeypatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    monkeypatch.setattr(os, "sync", lambda: calls.append("sync"))
    sync_file_system(tmp_path)
    assert calls == ["sync"]
