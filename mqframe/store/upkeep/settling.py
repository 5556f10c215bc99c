"""What a start finds in memory and makes durable before it counts as flushed (store.md §4).

After a kill the page cache holds what the process wrote, and the disk some of it. After a sync that failed
the page cache may hold what the kernel takes for written: no sync writes that, so it is written once more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mqframe.log import get_logger
from mqframe.store.files.descriptors import write_all
from mqframe.store.files.durability import noted_failure
from mqframe.store.files.layout import Layout, sized_files
from mqframe.store.files.syncing import sync_directory
from mqframe.store.message_files import MessageFiles
from mqframe.store.upkeep.queue_flusher import sync_paths

log: Final = get_logger("store")
_BLOCK_BYTES: Final = 1 << 20


def bring_back(layout: Layout) -> bool:
    """Write anew what the run before could not bring to disk; whether there was such a run.

    What is still right in memory gets to the disk with that, if the disk works again. Raises OSError.
    """
    failure = noted_failure(layout.sync_failed)
    if failure is None:
        return False
    log.error(
        "the disk failed the run before; what memory holds is written anew, and checked",
        failed=failure.reason, log_from=failure.flushed,
    )  # fmt: skip
    for base, path, size in sized_files(layout.commit_log):
        if base + size > failure.flushed:
            _rewrite(path, max(0, failure.flushed - base))
    for path in _derived(layout):
        _rewrite(path, 0)
    return True


def settle_on_disk(layout: Layout, files: MessageFiles, killed: bool) -> None:
    """Bring all to disk that recovery has found and made. Raises OSError."""
    if killed:
        files.log.sync_all()
        sync_directory(layout.commit_log)
        derived = _derived(layout)
        folders = {str(folder) for path in derived for folder in _folders(path, layout.root)}
        sync_paths([str(path) for path in derived], files.log.durability.sync, folders)
    layout.sync_failed.unlink(missing_ok=True)
    sync_directory(layout.root)


def _derived(layout: Layout) -> list[Path]:
    """The files of queues, index and timer."""
    found = [path for folder in (layout.queues, layout.index, layout.timer_log) for path in _files(folder)]
    return [*found, layout.timer_wheel] if layout.timer_wheel.exists() else found


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)


def _folders(path: Path, root: Path) -> list[Path]:
    return [parent for parent in path.parents if parent.is_relative_to(root)]


def _rewrite(path: Path, start: int) -> None:
    """Write once more what the file holds from byte `start` on; holes stay holes. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        end = os.fstat(descriptor).st_size
        at = start - start % _BLOCK_BYTES
        while at < end:
            try:
                at = os.lseek(descriptor, at, os.SEEK_DATA)
            except OSError:
                return  # nothing but a hole follows
            data = os.pread(descriptor, _BLOCK_BYTES, at)
            if not data:
                return
            write_all(descriptor, data, at)
            at += len(data)
    finally:
        os.close(descriptor)
