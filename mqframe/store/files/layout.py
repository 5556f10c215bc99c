"""Where things lie below a store's root directory (store.md §1)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path


class Layout:
    """The paths below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commit_log = root / "commitlog"
        self.queues = root / "consumequeue"
        self.index = root / "index"
        self.config = root / "config"
        self.checkpoint = root / "checkpoint"
        self.abort = root / "abort"
        self.lock = root / "lock"
        self.queue_ends = root / "queue-ends"
        self.dispatched = root / "dispatched"
        self.sync_failed = root / "sync-failed"
        self.timer_wheel = root / "timerwheel"
        self.timer_log = root / "timerlog"
        self.timer_checkpoint = root / "config" / "timercheck"
        self.quarantine = root / "quarantine"
        self.cut = root / "cut"
        self.deleted_topics = root / "config" / "deletedTopics.json"
        self.cursors = root / "config" / "dispatchers.json"


@lru_cache(maxsize=1024)
def file_name(offset: int) -> str:
    """The name of the file that starts at `offset`: 20 digits."""
    return f"{offset:020d}"


def sized_files(directory: Path) -> list[tuple[int, Path, int]]:
    """(start offset, path, size in bytes) of the numbered files in `directory`, in order."""
    if not directory.is_dir():
        return []
    return sorted(
        (int(path.name), path, path.stat().st_size)
        for path in directory.iterdir()
        if path.name.isdecimal() and len(path.name) == 20
    )
