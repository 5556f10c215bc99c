"""Paths and file names below a store's root."""

from __future__ import annotations

import pytest

from mqframe.core.errors import StoreError
from mqframe.store.files.layout import Layout, file_name, numbered_files


def test_the_paths_are_those_of_the_reference(tmp_path) -> None:
    layout = Layout(tmp_path)
    named = {name: path.relative_to(tmp_path).as_posix() for name, path in vars(layout).items()}
    assert named == {
        "root": ".",
        "commit_log": "commitlog",
        "queues": "consumequeue",
        "index": "index",
        "config": "config",
        "checkpoint": "checkpoint",
        "abort": "abort",
        "lock": "lock",
        "queue_ends": "queue-ends",
        "dispatched": "dispatched",
        "sync_failed": "sync-failed",
        "timer_wheel": "timerwheel",
        "timer_log": "timerlog",
        "timer_checkpoint": "config/timercheck",
        "quarantine": "quarantine",
        "deleted_topics": "config/deletedTopics.json",
        "cursors": "config/dispatchers.json",
    }


def test_numbered_files_come_in_order_and_others_are_passed_over(tmp_path) -> None:
    for name in (file_name(200), file_name(100), "200", "notes.txt", file_name(0) + "0"):
        (tmp_path / name).write_bytes(bytes(100))
    assert numbered_files(tmp_path, 100) == [(n, tmp_path / f"{n:020d}") for n in (100, 200)]
    assert numbered_files(tmp_path / "missing", 100) == []


def test_an_empty_last_file_is_removed_and_one_of_another_size_refused(tmp_path) -> None:
    (tmp_path / file_name(0)).write_bytes(bytes(100))
    (tmp_path / file_name(100)).write_bytes(b"")
    assert numbered_files(tmp_path, 100) == [(0, tmp_path / file_name(0))]
    assert not (tmp_path / file_name(100)).exists()
    with pytest.raises(StoreError, match="has 100 bytes, the setting says 50: set the file size"):
        numbered_files(tmp_path, 50)
