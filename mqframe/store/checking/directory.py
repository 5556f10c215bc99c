"""What kind of store lies in a directory, whether somebody uses it, and with which file sizes it was made."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import attrs

from mqframe.core.errors import SettingError
from mqframe.store.checking.compared_index import index_paths, index_sizes
from mqframe.store.files.layout import Layout, sized_files
from mqframe.store.files.ownership import is_in_use
from mqframe.store.log.log_view import neighbours
from mqframe.store.settings import StoreSettings


def known_store(directory: Path) -> Layout:
    """The layout of the store in `directory`, if it is one whose files are known here.

    Raises `SettingError` for any other, which names what is unknown.
    """
    layout = Layout(directory.expanduser())
    if not layout.commit_log.is_dir():
        strange = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []
        ledgers = [name for name in strange if name.startswith("dledger-")]
        what = (
            f"its log is kept by DLedger ({ledgers[0]})" if ledgers else "there is no folder commitlog in it"
        )
        raise SettingError(f"{directory} holds no store that is known here: {what}")
    for folder in sorted(path for path in layout.root.iterdir() if path.is_dir()):
        if (folder / "CURRENT").is_file() or any(folder.glob("MANIFEST-*")):
            raise SettingError(
                f"{folder} is a RocksDB database: queues in RocksDB are not known here; use tools of Apache"
                " RocketMQ, or have its broker write queues as files (storeType=default)"
            )
    batches = layout.root / "batchconsumequeue"
    if batches.is_dir() and any(batches.rglob("0*")):
        raise SettingError(f"{batches} holds batch queues, which are not known here")
    return layout


def refuse_in_use(layout: Layout) -> None:
    """Raise `SettingError` when a broker uses the store; nothing is locked."""
    if is_in_use(layout):
        raise SettingError(
            f"a broker uses {layout.root} (it holds {layout.lock}), so its files change: stop it, or take a"
            " snapshot of the file system and look at that"
        )


def with_sizes(settings: StoreSettings, layout: Layout) -> StoreSettings:
    """`settings` with the directory and the file sizes of the store at `layout`, as its files tell them."""
    slots, entries = index_sizes(index_paths(layout.index), settings.index_slots, settings.index_entries)
    configured: Any = settings
    sized: StoreSettings = attrs.evolve(
        configured,
        directory=layout.root,
        commit_log_file_bytes=neighbours(layout.commit_log)[0] or settings.commit_log_file_bytes,
        queue_file_bytes=_queue_file_bytes(layout.queues) or settings.queue_file_bytes,
        index_slots=slots,
        index_entries=entries,
    )
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
