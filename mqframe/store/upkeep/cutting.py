"""Cutting the end off a stopped store's log; what is cut off is kept in files beside it (store.md §4)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from mqframe.core.errors import StoreError
from mqframe.core.os_errors import told
from mqframe.core.storage.cut_tail import CutTail
from mqframe.core.storage.record import decode_record
from mqframe.core.storage.zeros import is_empty
from mqframe.hooks.interfaces.cut_back import CutBack
from mqframe.log import get_logger
from mqframe.store.files.checkpoint import Checkpoint
from mqframe.store.files.descriptors import write_all
from mqframe.store.files.layout import Layout, sized_files
from mqframe.store.files.log_file import allocate_really
from mqframe.store.files.modes import file_mode
from mqframe.store.files.ownership import Ownership
from mqframe.store.files.syncing import make_directories, sync_directory, write_durably
from mqframe.store.log.closed_log import ClosedLog
from mqframe.store.queues.deleted_topics import DeletedTopics
from mqframe.store.upkeep.cut_progress import CutProgress, progress_before, put_back
from mqframe.store.upkeep.quarantine import LostEntries, Quarantine
from mqframe.store.upkeep.stopped_store import StoreToCut

log: Final = get_logger("store")
CUT_SUFFIX: Final = ".records"
"""How the files end that hold what was cut off."""
_UNFINISHED: Final = (".unfinished", ".tmp")
_COPIED_AT_ONCE: Final = 1 << 20


class Cut(msgspec.Struct, frozen=True, rename={"start": "from", "end": "to"}):
    """What was cut off a log.

    `start`, `end`: log offsets; `records`: how many sound ones lay there; `file`: name of the file in the
    store's folder `cut` that holds the bytes, each at its log offset less `start`, empty where there was
    nothing to cut; `when_ms`, `why`; `queues`: the messages by queue; `newest_ms`: store time of the newest
    record that stays; `progress`: what counted on the tail, and stands before it now; `done`: whether the log
    really ends at `start`.
    """

    start: int
    end: int
    records: int
    file: str
    when_ms: int
    why: str
    queues: list[LostEntries]
    newest_ms: int
    progress: CutProgress
    done: bool = False


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


def finish_cuts(layout: Layout) -> None:
    """Finish what an interruption has left of cuts. To be called by who owns the store. Raises OSError."""
    if not layout.cut.is_dir():
        return
    reported = set()
    for cut in cuts(layout):
        reported.add(cut.file)
        if not cut.done:
            log.warning("a cut of the log that was interrupted is finished", offset=cut.start, why=cut.why)
            _finish(layout, cut)
    for path in layout.cut.iterdir():
        # Without a report nothing was cut: it is a copy of what the log still holds.
        if path.suffix in _UNFINISHED or (path.suffix == CUT_SUFFIX and path.name not in reported):
            path.unlink()


def cuts(layout: Layout) -> list[Cut]:
    """What was cut off so far, by log offset. Raises `StoreError` for a report that cannot be read."""
    found = []
    for path in sorted(layout.cut.glob("*.json")) if layout.cut.is_dir() else ():
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=Cut))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise StoreError(
                f"{path} cannot be read: {problem}. It says what was cut off the log; move it away to go on"
            ) from problem
    return found


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
    _report(layout, cut)
    return _finish(layout, cut)


def _copy(layout: Layout, closed: ClosedLog, start: int, end: int) -> str:
    """Keep what lies from log offset `start` to before `end`; the name of its file, which is on disk then."""
    make_directories(layout.cut)
    number = 0
    while (path := layout.cut / f"{start:020d}-{number}{CUT_SUFFIX}").exists():
        number += 1
    unready = path.with_name(path.name + _UNFINISHED[0])
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


def _report(layout: Layout, cut: Cut) -> None:
    path = layout.cut / f"{cut.file.removesuffix(CUT_SUFFIX)}.json"
    write_durably(path, msgspec.json.format(msgspec.json.encode(cut), indent=1))


def _finish(layout: Layout, cut: Cut) -> Cut:
    """Do what `cut` says, all of it once more where an interruption came in between. Raises OSError."""
    # First what speaks of the tail, then the tail: so a start that comes in between misses nothing.
    for path in (layout.queue_ends, layout.dispatched):
        path.unlink(missing_ok=True)
    sync_directory(layout.root)
    _set_checkpoint_back(layout, cut)
    DeletedTopics(layout.deleted_topics).cut(cut.start)
    _move_reports(layout, cut.start)
    put_back(layout, cut.progress, cut.start)
    _shorten(layout, cut.start)
    done = msgspec.structs.replace(cut, done=True)
    _report(layout, done)
    log.warning(
        "the log was cut; what lay behind is kept",
        offset=cut.start, to=cut.end, records=cut.records, file=str(layout.cut / cut.file), why=cut.why,
    )  # fmt: skip
    return done


def _shorten(layout: Layout, end: int) -> None:
    """Let the log's files hold nothing from `end` on, the last one first; the first file stays."""
    files = sized_files(layout.commit_log)
    for number, (base, path, size) in reversed(list(enumerate(files))):
        if base >= end and number:
            path.unlink()
            sync_directory(layout.commit_log)
        elif base + size > end:
            with path.open("r+b") as file:
                file.truncate(max(end - base, 0))
                allocate_really(file.fileno(), size)
                os.fsync(file.fileno())


def _set_checkpoint_back(layout: Layout, cut: Cut) -> None:
    checkpoint = Checkpoint(layout.checkpoint)
    if not checkpoint.is_known:
        return
    checkpoint.log = min(checkpoint.log, cut.newest_ms)
    checkpoint.queues = min(checkpoint.queues, cut.newest_ms)
    checkpoint.index = min(checkpoint.index, cut.newest_ms)
    checkpoint.master_flushed = min(checkpoint.master_flushed, cut.start)
    checkpoint.confirmed = min(checkpoint.confirmed, cut.start)
    checkpoint.save()


def _move_reports(layout: Layout, offset: int) -> None:
    """Let reports of damage in what is cut off go with it: other records may lie there soon."""
    for report in Quarantine(layout.quarantine).reports():
        if report.start >= offset:
            for name in (report.copy, f"{report.copy.removesuffix('.bytes')}.json"):
                path = layout.quarantine / name
                if path.exists():
                    path.rename(layout.cut / f"damaged-{name}.kept")
            sync_directory(layout.quarantine)
            sync_directory(layout.cut)
