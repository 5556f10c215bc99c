"""The files that hold the messages of one store: commit log, consume queues, key index, checkpoint."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import NamedTuple

from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.measuring.open_files import queue_files_that_fit
from mqframe.core.storage.recovery import Care
from mqframe.hooks.interfaces.key_index import KeyIndex, KeyIndexPlace, OpenIndex
from mqframe.store.files.checkpoint import Checkpoint
from mqframe.store.files.disk import Disk
from mqframe.store.files.durability import Durability
from mqframe.store.files.layout import Layout
from mqframe.store.files.modes import make_folder
from mqframe.store.files.threads import Threads
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.log.log_directory import restore_missing
from mqframe.store.queues.deleted_topics import DeletedTopics
from mqframe.store.queues.queue_table import QueueTable
from mqframe.store.settings import StoreSettings


class MessageFiles(NamedTuple):
    """`key_index`: `None` where keys are not indexed; `checkpoint`: how far the others are on disk."""

    log: CommitLog
    queues: QueueTable
    key_index: KeyIndex | None
    checkpoint: Checkpoint

    def close(self) -> None:
        """Close all files; nothing is written."""
        self.queues.close()
        if self.key_index is not None:
            self.key_index.close()
        self.log.close()


def open_files(
    layout: Layout,
    settings: StoreSettings,
    disk: Disk,
    threads: Threads,
    now_ms: Callable[[], int],
    care: Care,
    delays: tuple[int, ...] = USUAL_DELAYS,
    open_index: OpenIndex | None = None,
) -> MessageFiles:
    """The files of the store at `layout`, made where there are none. Raises `StoreError` and `OSError`.

    `care`: with `Care.ACCEPT_LOSS` missing files of the log are made anew. `delays`: of the delay levels, ms.
    `open_index`: opens the index of keys; without it none is kept.
    """
    durability = Durability(layout.sync_failed, disk.sync)
    if care is Care.ACCEPT_LOSS:
        restore_missing(layout.commit_log, settings.commit_log_file_bytes)
    log = CommitLog(
        layout.commit_log, settings.commit_log_file_bytes, disk.allocate, threads.pool, durability
    )
    deleted = DeletedTopics(layout.deleted_topics)
    files_max = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    descriptors_max = queue_files_that_fit(settings.queue_descriptors_max, files_max)
    make_folder(layout.queues)
    queues = QueueTable(layout.queues, settings.queue_file_bytes, descriptors_max, deleted, delays)
    place = KeyIndexPlace(layout.root, disk.allocate, now_ms)
    index = None if open_index is None else open_index(place)
    return MessageFiles(log, queues, index, Checkpoint(layout.checkpoint))
