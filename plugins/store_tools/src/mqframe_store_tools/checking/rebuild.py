"""Queues and index of a stopped store built again from its log; what there was is kept beside them."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Final, NamedTuple

from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing

from mqframe.core.delay.levels import USUAL_DELAYS
from mqframe.core.errors import StoreError
from mqframe.core.storage.agreement import LIGHT_PREFIX
from mqframe.core.storage.recovery import Care
from mqframe.net.clock import LoopClock
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
from mqframe.store.upkeep.quarantine import QuarantineReport
from mqframe_store_tools.checking.compared_queues import ComparedQueues
from mqframe_store_tools.checking.log_reading import installed_reading

SET_ASIDE: Final = "set-aside-"
"""How the folders begin that hold what there was before."""
UNFINISHED: Final = ".unfinished"
"""How that of a rebuild ends which has not ended."""
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
    damaged: tuple[QuarantineReport, ...]


def rebuild(
    layout: Layout,
    settings: StoreSettings,
    index: IndexSettings,
    clock: LoopClock,
    *,
    accept_loss: bool,
    delays: tuple[int, ...] = USUAL_DELAYS,
) -> Rebuilt:
    """Build them. `settings`, `index`: with the sizes of the store's files, see `with_sizes`; `delays`: of
    the delay levels, ms.

    What a rebuild that was killed has set aside is kept as this one's. Raises `StoreError`, with everything
    as it was, when a broker uses the store, and, unless `accept_loss`, where the log lacks files or records
    that are known to have been there; OSError.
    """
    if not accept_loss:
        _refuse_parts(layout)
    ownership = Ownership(layout)
    was_orderly = not layout.abort.exists()
    try:
        note = _noted(layout, settings)
        former = layout.queue_ends.read_bytes() if layout.queue_ends.exists() else None
        if note is not None:  # before the files go that say it
            save_note(layout.queue_ends, note.encode())
        kept = _set_aside(layout, index)
    finally:
        ownership.release()
    try:
        care = Care.ACCEPT_LOSS if accept_loss else Care.THOROUGH
        store = MessageStore.open(
            settings,
            clock,
            care=care,
            delays=delays,
            open_index=FileIndexing(index).open,
            log_reading=installed_reading(),
        )
    except BaseException as problem:
        _put_back(layout, kept, former)
        if was_orderly:
            layout.abort.unlink(missing_ok=True)
        if isinstance(problem, StoreError):
            raise StoreError(f"{problem} (queues and index are what they were)") from problem
        raise
    asyncio.run(store.stop())
    found = store.recovered
    kept = _settled(kept)
    return Rebuilt(found.records, store.log.max_offset, len(list(store.queues)), kept, found.set_aside)


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


def _set_aside(layout: Layout, index: IndexSettings) -> Path:
    """Move queues and index into a folder of their own, or into that of a rebuild which was killed."""
    kept = _left(layout)
    if kept is None:
        kept = _new_folder(layout.root)
    for folder in _derived(layout, index):
        former = kept / folder.name
        if former.is_dir() and folder.is_dir():  # it is what was being built
            _move_light(folder, former)
            shutil.rmtree(folder)
        elif folder.is_dir():
            folder.rename(former)
    _move_light(kept / layout.queues.name, layout.queues)
    sync_directory(kept)
    sync_directory(layout.root)
    return kept


def _new_folder(root: Path) -> Path:
    name = time.strftime(f"{SET_ASIDE}%Y%m%d%H%M%S")
    names, number = {path.name.removesuffix(UNFINISHED) for path in root.iterdir()}, 0
    unique = name
    while unique in names:
        number += 1
        unique = f"{name}-{number}"
    kept = root / (unique + UNFINISHED)
    make_folder(kept)
    return kept


def _left(layout: Layout) -> Path | None:
    """The folder that a rebuild which was killed has left, if there is one.

    One that is older than the queues there are, because a broker has run and stopped since, is kept for good.
    """
    left = next(iter(sorted(layout.root.glob(f"{SET_ASIDE}*{UNFINISHED}"))), None)
    if left is None or layout.abort.exists() or not (left / layout.queues.name).is_dir():
        return left
    if all(path.name.startswith(LIGHT_PREFIX) for path in layout.queues.glob("*")):
        return left
    _settled(left)
    return None


def _settled(kept: Path) -> Path:
    """The folder by the name that it has for good."""
    settled = kept.rename(kept.with_name(kept.name.removesuffix(UNFINISHED)))
    sync_directory(settled.parent)
    return settled


def _move_light(queues: Path, other: Path) -> None:
    """Move the queues of light topics to the folder `other`: the log does not say what these hold."""
    for path in [each for each in queues.glob("*") if each.name.startswith(LIGHT_PREFIX)]:
        make_folder(other)
        path.rename(other / path.name)


def _derived(layout: Layout, index: IndexSettings) -> list[Path]:
    return [layout.queues, layout.index] if index.enabled else [layout.queues]


def _put_back(layout: Layout, kept: Path, note: bytes | None) -> None:
    for folder in (layout.queues, layout.index):
        former = kept / folder.name
        if not former.is_dir():
            continue
        _move_light(folder, former)
        shutil.rmtree(folder, ignore_errors=True)
        former.rename(folder)
    kept.rmdir()
    if note is None:
        layout.queue_ends.unlink(missing_ok=True)
    else:
        save_note(layout.queue_ends, note)
    sync_directory(layout.root)
