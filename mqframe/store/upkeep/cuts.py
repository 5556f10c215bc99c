"""What was cut off the end of a log: reports of it, and cuts that were interrupted, which a start finishes.

What is cut off is kept in files beside the log (store.md §4). Replication cuts, where a slave's log differs.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec

from mqframe.core.errors import StoreError
from mqframe.log import get_logger
from mqframe.store.files.checkpoint import Checkpoint
from mqframe.store.files.layout import Layout, sized_files
from mqframe.store.files.log_file import allocate_really
from mqframe.store.files.syncing import sync_directory, write_durably
from mqframe.store.queues.deleted_topics import DeletedTopics
from mqframe.store.upkeep.cut_progress import CutProgress, put_back
from mqframe.store.upkeep.quarantine import LostEntries, Quarantine

log: Final = get_logger("store")
CUT_SUFFIX: Final = ".records"
"""How the files end that hold what was cut off."""
UNFINISHED: Final = ".unfinished"
"""How a file ends that does not hold all of it yet."""


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


def finish_cuts(layout: Layout) -> None:
    """Finish what an interruption has left of cuts. To be called by who owns the store. Raises OSError."""
    if not layout.cut.is_dir():
        return
    reported = set()
    for cut in cuts(layout):
        reported.add(cut.file)
        if not cut.done:
            log.warning("a cut of the log that was interrupted is finished", offset=cut.start, why=cut.why)
            finish(layout, cut)
    for path in layout.cut.iterdir():
        # Without a report nothing was cut: it is a copy of what the log still holds.
        if path.suffix in (UNFINISHED, ".tmp") or (path.suffix == CUT_SUFFIX and path.name not in reported):
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


def report(layout: Layout, cut: Cut) -> None:
    """Save what is known of a cut, durably: from here on it is finished, by the next start at the latest."""
    path = layout.cut / f"{cut.file.removesuffix(CUT_SUFFIX)}.json"
    write_durably(path, msgspec.json.format(msgspec.json.encode(cut), indent=1))


def finish(layout: Layout, cut: Cut) -> Cut:
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
    report(layout, done)
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
    for damage in Quarantine(layout.quarantine).reports():
        if damage.start >= offset:
            for name in (damage.copy, f"{damage.copy.removesuffix('.bytes')}.json"):
                path = layout.quarantine / name
                if path.exists():
                    path.rename(layout.cut / f"damaged-{name}.kept")
            sync_directory(layout.quarantine)
            sync_directory(layout.cut)
