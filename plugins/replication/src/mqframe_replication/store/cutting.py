"""Cutting the end off a stopped store's log; what is cut off is kept in files beside it (store.md §4)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from mqframe.core.errors import StoreError
from mqframe.core.os_errors import told
from mqframe.core.storage.record import decode_record
from mqframe.core.storage.zeros import is_empty
from mqframe.hooks.interfaces.cut_back import CutBack
from mqframe.store.files.descriptors import write_all
from mqframe.store.files.layout import Layout
from mqframe.store.files.modes import file_mode
from mqframe.store.files.ownership import Ownership
from mqframe.store.files.syncing import make_directories, sync_directory
from mqframe.store.upkeep.cut_progress import CutProgress
from mqframe.store.upkeep.cuts import CUT_SUFFIX, UNFINISHED, Cut, finish, finish_cuts, report
from mqframe.store.upkeep.quarantine import LostEntries
from mqframe_replication.store.closed_log import ClosedLog
from mqframe_replication.store.cut_tail import CutTail
from mqframe_replication.store.progress_before import progress_before
from mqframe_replication.store.store_to_cut import StoreToCut

_COPIED_AT_ONCE: Final = 1 << 20


class Reason(NamedTuple):
    """Why a log is cut, and when."""

    why: str
    now_ms: int


def cut_log(root: Path, offset: int, services: Sequence[CutBack], *, why: str, now_ms: int) -> Cut:
    """Cut the log of the stopped store in `root` at log `offset`; the next start makes all agree with it.

    `offset`: where a record begins, or the log ends; `services`: put back what they keep beside the log
    (`PluginManager.cut_backs`). First what lies behind it is copied to the folder `cut`,
    with a report, both on disk; then the log gets shorter. A cut that was interrupted is finished by the next
    start, and by the next call. `now_ms`: for the report. Raises `StoreError`, with the store as it was, when
    a broker uses it, and where no record begins at `offset`; also when the disk fails.
    """
    layout = Layout(root)
    try:
        ownership = Ownership(layout)
        try:
            finish_cuts(layout)
            return _cut(layout, offset, services, Reason(why, now_ms), ownership)
        finally:
            ownership.release()
    except OSError as problem:
        raise StoreError(f"the log in {layout.commit_log} cannot be cut: {told(problem)}") from problem


def _cut(
    layout: Layout, offset: int, services: Sequence[CutBack], reason: Reason, ownership: Ownership
) -> Cut:
    with ClosedLog(layout) as closed:
        newest = closed.newest_before(offset)
        tail, end = CutTail(), offset
        for file, at, stop in closed.parts_from(offset):
            end = max(end, file.base + stop)
            for record in closed.records(file, at):
                tail.take(record)
                message = partial(decode_record, file.view, record.physical_offset - file.base)
                for service in services:
                    service.take(record, message)
                end = max(end, record.end)
        if end == offset:
            return Cut(offset, end, 0, "", reason.now_ms, reason.why, [], newest, CutProgress(), done=True)
        # From here on whatever an orderly stop has left is not what the next start may trust.
        ownership.mark()
        name = _copy(layout, closed, offset, end)
        progress = progress_before(StoreToCut(layout, tail, closed), services)
    queues = [LostEntries(*key, *ends) for key, ends in sorted(tail.queues.items())]
    cut = Cut(offset, end, tail.records, name, reason.now_ms, reason.why, queues, newest, progress)
    report(layout, cut)
    return finish(layout, cut)


def _copy(layout: Layout, closed: ClosedLog, start: int, end: int) -> str:
    """Keep what lies from log offset `start` to before `end`; the name of its file, which is on disk then."""
    make_directories(layout.cut)
    number = 0
    while (path := layout.cut / f"{start:020d}-{number}{CUT_SUFFIX}").exists():
        number += 1
    unready = path.with_name(path.name + UNFINISHED)
    descriptor = os.open(unready, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, file_mode())
    try:
        os.ftruncate(descriptor, end - start)
        for file, at, stop in closed.parts_from(start):
            for begin in range(at, stop, _COPIED_AT_ONCE):
                part = bytes(file.view[begin : min(begin + _COPIED_AT_ONCE, stop)])
                if not is_empty(part):
                    write_all(descriptor, part, file.base + begin - start)
        os.fsync(descriptor)
    except OSError:
        unready.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    unready.rename(path)
    sync_directory(layout.cut)
    return path.name
