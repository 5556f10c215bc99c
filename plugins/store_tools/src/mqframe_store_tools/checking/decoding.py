"""What single places of a store's files say: records, queue entries, index entries, checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mqframe_admin.rules.message_rows import Row, message_row
from mqframe_delay.store.checkpoint import TimerCheckpoint
from mqframe_index.store.index_file import IndexFile
from mqframe_index.store.key_hashes import index_hash
from mqframe_index.store.new_entries import ENTRY as INDEX_ENTRY

from mqframe.core.errors import SettingError
from mqframe.core.storage.log_scan import is_blank, read_record
from mqframe.core.storage.record import RecordError, decode_record
from mqframe.store.files.checkpoint import Checkpoint
from mqframe.store.files.layout import Layout
from mqframe.store.log.log_view import LogView, neighbours
from mqframe.store.queues.consume_queue import ENTRY, FILLER_SIZE
from mqframe.store.queues.queue_ends import read_ends
from mqframe.store.reader import StoreReader
from mqframe_store_tools.checking.compared_index import index_paths

_SHOWN_BYTES: Final = 128


def record_at(layout: Layout, offset: int) -> Row:
    """What lies at log `offset`: a record, sound or not, the unused end of a file, or bytes.

    Raises `SettingError` where the log has no such offset; OSError.
    """
    file_bytes, groups = neighbours(layout.commit_log)
    for files in groups:
        view = LogView(layout.commit_log, files, file_bytes)
        try:
            file = view.file_at(offset)
            if file is not None:
                return _told(file.view, offset - file.base, offset, file.path)
        finally:
            view.close()
    start = groups[0][0][0] if groups else 0
    end = groups[-1][-1][0] + groups[-1][-1][2] if groups else 0
    raise SettingError(f"the log has no offset {offset}: its files go from {start} to {end}")


def _told(view: memoryview, at: int, offset: int, path: Path) -> Row:
    place: Row = {"file": path.name, "byte": at}
    if is_blank(view, at):
        return place | {"kind": "unused end of the file", "bytes": len(view) - at}
    sound = read_record(view, at, offset) is not None
    try:
        message = decode_record(view, at)
    except RecordError as problem:
        raw = bytes(view[at : at + _SHOWN_BYTES])
        return place | {"kind": "no record", "problem": str(problem), "hexadecimal": raw.hex(" ", 4)}
    return place | {"kind": "record", "sound": sound} | message_row(message)


def queue_entry(layout: Layout, topic: str, queue_id: int, offset: int) -> Row:
    """The entry at `offset` of a queue. Raises `SettingError` where there is none; OSError."""
    for base, path, count in StoreReader(layout.root).queue_files(topic, queue_id):
        if base <= offset < base + count:
            at = (offset - base) * ENTRY.size
            with path.open("rb") as file:
                file.seek(at)
                physical, size, code = ENTRY.unpack(file.read(ENTRY.size))
            filler = size == FILLER_SIZE and not physical
            kind = "filler" if filler else "entry" if size > 0 else "nothing yet"
            return {
                "file": str(path.relative_to(layout.root)), "byte": at, "kind": kind,
                "commit_log_offset": physical, "stored_bytes": size, "tags_code": code,
            }  # fmt: skip
    raise SettingError(f"queue {queue_id} of topic {topic} has no file with offset {offset}")


def index_entries(layout: Layout, sizes: tuple[int, int], topic: str, key: str) -> Iterator[Row]:
    """The entries of all index files under the hash of `key` of `topic`, the newest file's newest first.

    `sizes`: slots and entries of a file. An entry may be of another key with the same hash. Raises OSError.
    """
    key_hash = index_hash(f"{topic}#{key}")
    for path in reversed(index_paths(layout.index)):
        file = IndexFile(path, *sizes, writable=False)
        try:
            slot = key_hash % file.slots
            number, before = file.slot_table()[slot], file.count
            while 0 < number < before:
                raw = file.read_entries(number, 1)
                if len(raw) < INDEX_ENTRY.size:
                    break
                found, offset, seconds, previous = INDEX_ENTRY.unpack(raw)
                if found == key_hash:
                    yield {
                        "file": path.name, "slot": slot, "entry": number, "byte": file.entry_place(number),
                        "hash": found, "commit_log_offset": offset,
                        "stored_ms": file.begin_timestamp + seconds * 1000, "previous": previous,
                    }  # fmt: skip
                before, number = number, previous
        finally:
            file.close()


def checkpoints(layout: Layout) -> Iterator[Row]:
    """The numbers of the store's checkpoint, of the timer's, and of the note of the last stop, as far as they
    are there. Raises OSError."""
    if layout.checkpoint.exists():
        known = Checkpoint(layout.checkpoint)
        yield {"file": "checkpoint", "what": "whole", "value": known.is_known}
        for name in ("log", "queues", "index", "master_flushed", "confirmed"):
            yield {"file": "checkpoint", "what": name, "value": getattr(known, name)}
    timer = TimerCheckpoint(layout.timer_checkpoint)
    if timer.exists:
        for name in ("read_time", "position", "queue_offset", "master_offset", "state_version", "timestamp"):
            yield {"file": "config/timercheck", "what": name, "value": getattr(timer, name)}
    noted = read_ends(layout.queue_ends)
    if noted is not None:
        yield {"file": "queue-ends", "what": "orderly", "value": noted.orderly}
        yield {"file": "queue-ends", "what": "log_end", "value": noted.log_end}
        for topic, rows in sorted(noted.queues.items()):
            for row in rows:
                yield {"file": "queue-ends", "what": f"end of queue {row[0]} of {topic}", "value": row[4]}
