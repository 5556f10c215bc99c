"""What a start finds in memory and makes durable before it counts as flushed (store.md §4).

After a kill the page cache holds what the process wrote, and the disk some of it. After a sync that failed
the page cache may hold what the kernel takes for written: no sync writes that, so it is written once more.
"""

from __future__ import annotations

import os
from typing import Final

from mqframe.log import get_logger
from mqframe.store.files.descriptors import write_all
from mqframe.store.files.durability import noted_failure
from mqframe.store.files.layout import Layout, sized_files
from mqframe.store.files.syncing import sync_directory, sync_file_system
from mqframe.store.message_files import MessageFiles
from mqframe.store.upkeep.queue_flusher import sync_paths

log: Final = get_logger("store")
_BLOCK_BYTES: Final = 1 << 20
_QUEUES_SYNCED_ONE_BY_ONE_MAX: Final = 64


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
    for derived in _derived(layout)[0]:
        _rewrite(derived, 0)
    return True


def settle_on_disk(layout: Layout, files: MessageFiles, killed: bool) -> None:
    """Bring all to disk that recovery has found and made. Raises OSError."""
    if killed:
        files.log.sync_all()
        files.log.durability.sync_names(layout.commit_log)
        if len(files.queues) > _QUEUES_SYNCED_ONE_BY_ONE_MAX:
            sync_file_system(layout.root)
        else:
            sync_paths(*_derived(layout), sync=files.log.durability.sync)
    layout.sync_failed.unlink(missing_ok=True)
    sync_directory(layout.root)


def _derived(layout: Layout) -> tuple[list[str], list[str]]:
    """The files of queues, index and timer, and the folders in which they are."""
    paths, folders = [str(layout.timer_wheel)] if layout.timer_wheel.exists() else [], []
    for top in (layout.queues, layout.index, layout.timer_log):
        for folder, _, names in os.walk(top):
            folders.append(folder)
            paths += [f"{folder}/{name}" for name in names]
    return paths, folders


def _rewrite(path: str | os.PathLike[str], start: int) -> None:
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
