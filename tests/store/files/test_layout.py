"""Paths and file names below a store's root."""

from __future__ import annotations

from mqframe.store.files.layout import Layout, file_name, sized_files


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
        "cut": "cut",
        "deleted_topics": "config/deletedTopics.json",
        "cursors": "config/dispatchers.json",
    }


def test_numbered_files_come_in_order_and_others_are_passed_over(tmp_path) -> None:
    for name in (file_name(200), file_name(100), "200", "notes.txt", file_name(0) + "0"):
        (tmp_path / name).write_bytes(bytes(100))
    assert sized_files(tmp_path) == [(n, tmp_path / f"{n:020d}", 100) for n in (100, 200)]
    assert sized_files(tmp_path / "missing") == []
