"""Queues and index of a stopped store built again from its log; what there was is kept beside them."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Final, NamedTuple

from mqframe.core.errors import StoreError
from mqframe.core.storage.agreement import LIGHT_PREFIX
from mqframe.core.storage.recovery import Care
from mqframe.net.clock import LoopClock
from mqframe.store.checking.compared_queues import ComparedQueues
from mqframe.store.files.checkpoint import Checkpoint
from mqframe.store.files.layout import Layout
from mqframe.store.files.modes import make_folder
from mqframe.store.files.ownership import Ownership
from mqframe.store.files.syncing import sync_directory
from mqframe.store.log.log_view import neighbours
from mqframe.store.message_store import MessageStore
from mqframe.store.queues.deleted_topics import DeletedTopics
from mqframe.store.queues.queue_ends import QueueEnds, read_ends, save_note
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.quarantine import Report

_ADVICE: Final = (
    "; nothing was changed. Put the right files back, or go on without what is lost: mqframe store rebuild"
    " {root} --accept-loss"
)


class Rebuilt(NamedTuple):
    """`records`: how many the log holds; `log_end`: log offset; `queues`: how many there are; `kept`: the
    folder with what there was; `damaged`: what was taken out of the log because it was no sound record."""

    records: int
    log_end: int
    queues: int
    kept: Path
    damaged: tuple[Report, ...]


def rebuild(layout: Layout, settings: StoreSettings, clock: LoopClock, *, accept_loss: bool) -> Rebuilt:
    """Build them. `settings`: with the sizes of the store's files, see `with_sizes`.

    Raises `StoreError`, with everything as it was, when a broker uses the store, and, unless `accept_loss`,
    where the log lacks files or records that are known to have been there; OSError.
    """
    if not accept_loss:
        _refuse_parts(layout)
    ownership = Ownership(layout)
    was_orderly = not layout.abort.exists()
    try:
        note = _noted(layout, settings)
        former = layout.queue_ends.read_bytes() if layout.queue_ends.exists() else None
        kept = _set_aside(layout, settings)
        if note is not None:
            save_note(layout.queue_ends, note.encode())
    finally:
        ownership.release()
    try:
        care = Care.ACCEPT_LOSS if accept_loss else Care.THOROUGH
        store = MessageStore.open(settings, clock, care=care)
    except BaseException as problem:
        _put_back(layout, kept, former)
        if was_orderly:
            layout.abort.unlink(missing_ok=True)
        if isinstance(problem, StoreError):
            raise StoreError(f"{problem} (queues and index are what they were)") from problem
        raise
    asyncio.run(store.stop())
    found = store.recovered
    return Rebuilt(found.records, store.max_offset, len(list(store.queues())), kept, found.set_aside)


def _refuse_parts(layout: Layout) -> None:
    file_bytes, groups = neighbours(layout.commit_log)
    advice = _ADVICE.format(root=layout.root)
    if len(groups) > 1:
        gap = groups[0][-1][0] + file_bytes
        raise StoreError(f"the log in {layout.commit_log} has no file for offset {gap} on{advice}")
    for _, path, size in groups[0] if groups else ():
        if size != file_bytes:
            raise StoreError(f"{path} has {size} bytes, the others {file_bytes}{advice}")


def _noted(layout: Layout, settings: StoreSettings) -> QueueEnds | None:
    """Where the queues end as far as their files say; `None` where a note of the broker says it."""
    checkpoint = Checkpoint(layout.checkpoint)
    known = read_ends(layout.queue_ends)
    if known is not None and (checkpoint.log, checkpoint.queues) <= Checkpoint.decode(known.checkpoint)[:2]:
        return None
    queues = ComparedQueues(layout, settings.queue_file_bytes, DeletedTopics(layout.deleted_topics))
    try:
        queues.find(layout.queues)
        rows = queues.rows()
        covered = max((queue.covered for queue in queues.compared()), default=0)
    finally:
        queues.close()
    _, groups = neighbours(layout.commit_log)
    bases = [base for group in groups for base, _, _ in group]
    return QueueEnds(bases, covered, checkpoint.encode(), rows)


def _set_aside(layout: Layout, settings: StoreSettings) -> Path:
    """Move queues and index into a folder of their own."""
    name = time.strftime("set-aside-%Y%m%d%H%M%S")
    kept, number = layout.root / name, 0
    while kept.exists():
        number += 1
        kept = layout.root / f"{name}-{number}"
    make_folder(kept)
    for folder in _derived(layout, settings):
        if folder.is_dir():
            folder.rename(kept / folder.name)
    light = [path for path in (kept / layout.queues.name).glob("*") if path.name.startswith(LIGHT_PREFIX)]
    for path in light:  # the log does not say what these hold
        make_folder(layout.queues)
        path.rename(layout.queues / path.name)
    sync_directory(kept)
    sync_directory(layout.root)
    return kept


def _derived(layout: Layout, settings: StoreSettings) -> list[Path]:
    return [layout.queues, layout.index] if settings.index_enabled else [layout.queues]


def _put_back(layout: Layout, kept: Path, note: bytes | None) -> None:
    for folder in (layout.queues, layout.index):
        former = kept / folder.name
        if not former.is_dir():
            continue
        for path in folder.glob("*") if folder == layout.queues else ():
            if path.name.startswith(LIGHT_PREFIX):
                path.rename(former / path.name)
        shutil.rmtree(folder, ignore_errors=True)
        former.rename(folder)
    kept.rmdir()
    if note is None:
        layout.queue_ends.unlink(missing_ok=True)
    else:
        save_note(layout.queue_ends, note)
    sync_directory(layout.root)
