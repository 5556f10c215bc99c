"""With which file sizes a store was made."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import attrs
from mqframe_index.settings import IndexSettings

from mqframe.store.files.layout import Layout, sized_files
from mqframe.store.log.log_view import neighbours
from mqframe.store.settings import StoreSettings
from mqframe_store_tools.checking.compared_index import index_paths, index_sizes


def with_sizes(settings: StoreSettings, layout: Layout) -> StoreSettings:
    """`settings` with the directory and the file sizes of the store at `layout`, as its files tell them."""
    configured: Any = settings
    sized: StoreSettings = attrs.evolve(
        configured,
        directory=layout.root,
        commit_log_file_bytes=neighbours(layout.commit_log)[0] or settings.commit_log_file_bytes,
        queue_file_bytes=_queue_file_bytes(layout.queues) or settings.queue_file_bytes,
    )
    return sized


def with_index_sizes(settings: IndexSettings, layout: Layout) -> IndexSettings:
    """`settings` with the sizes of the index files of the store at `layout`, as these tell them."""
    slots, entries = index_sizes(index_paths(layout.index), settings.slots, settings.entries)
    configured: Any = settings
    sized: IndexSettings = attrs.evolve(configured, slots=slots, entries=entries)
    return sized


def _queue_file_bytes(folder: Path) -> int:
    """The size of most queue files; 0 where there are none."""
    sizes = Counter(
        size
        for queue in folder.glob("*/*")
        if queue.is_dir()
        for _, _, size in sized_files(queue)
        if size and size % 20 == 0
    )
    return max(sizes, key=lambda size: (sizes[size], size), default=0)
