"""One consume queue: entries of 20 bytes, entry n at byte n × 20, in sparse files (store.md §3)."""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from pathlib import Path
from typing import Final

from mqframe.core.errors import MessageError
from mqframe.core.messages.names import QUEUE_ID_MAX, check_path_part
from mqframe.core.storage.checked_offsets import CheckedOffsets
from mqframe.store.files.descriptors import Descriptors, write_all
from mqframe.store.files.layout import file_name
from mqframe.store.incoming import ENTRY_BYTES

ENTRY: Final = struct.Struct(">qiq")
"""Commit-log offset, record size, tags code."""
FILLER_SIZE: Final = 0x7FFFFFFF
"""The record size that a filler names."""
FILLER: Final = ENTRY.pack(0, FILLER_SIZE, 0)
"""Stands where a queue has no record: before its first one, or in a gap."""
_ENTRIES_AT_ONCE: Final = 200


class ConsumeQueue:
    """The queue `queue_id` of `topic`.

    `next_offset`: queue offset that the next stored message gets; `end`: first queue offset without an entry
    (behind `next_offset` by what is not dispatched yet); `covered`: largest end of a record with an entry, in
    log bytes; `loaded`: offsets before it were found at the start, not written since; `checked`: those of
    them whose records a read has checked. Raises `MessageError` for a topic that no folder can be named
    after, and for an id that records do not hold.
    """

    __slots__ = (
        "_descriptors", "_file_bytes", "_floor", "_floor_for", "_open_base", "_open_path", "bases",
        "checked", "covered", "directory", "dirty_bytes", "end", "key", "loaded", "next_offset", "queue_id",
        "topic",
    )  # fmt: skip

    def __init__(
        self, root: Path | str, topic: str, queue_id: int, file_bytes: int, descriptors: Descriptors
    ) -> None:
        check_path_part("topic", topic)
        if not 0 <= queue_id <= QUEUE_ID_MAX:
            raise MessageError(f"queue id {queue_id} of topic {topic}: ids go from 0 to {QUEUE_ID_MAX}")
        self.topic = topic
        self.queue_id = queue_id
        self.key = (topic, queue_id)
        self.directory = f"{root}/{topic}/{queue_id}"
        self._file_bytes = file_bytes
        self._descriptors = descriptors
        self.bases: list[int] = []
        self.next_offset = 0
        self.end = 0
        self.covered = 0
        self.dirty_bytes = 0
        self.loaded = 0
        self.checked = CheckedOffsets()
        self._floor = 0
        self._floor_for = 0
        self._open_base = 0
        self._open_path = ""

    def path(self, base: int) -> str:
        """The path of the file that starts at byte `base`."""
        if base == self._open_base and self._open_path:
            return self._open_path  # of the newest file, for most reads
        return f"{self.directory}/{file_name(base)}"

    def write(self, offset: int, entries: bytes, covered: int) -> None:
        """Put `entries` at queue offset `offset`; `covered`: end of the last record. Raises OSError."""
        size = len(entries)
        at = offset * ENTRY_BYTES - self._open_base
        if offset == self.end and at >= 0 and at + size <= self._file_bytes and self._open_path:
            descriptor = self._descriptors.get(self._open_path, self._file_bytes)
            if os.pwrite(descriptor, entries, at) != size:
                write_all(descriptor, entries, at)
        else:
            if offset < self._floor:
                # It was looked up in what was wrong; or the offsets, given away for what this log has lost
                # (`raise_to`), are those of other messages in the log of its master.
                self._floor, self._floor_for = 0, -1
            self._write_across(offset, entries)
        self.dirty_bytes += size
        end = offset + size // ENTRY_BYTES
        if end > self.end:
            self.end = end
            if self.next_offset < end:
                self.next_offset = end
        if covered > self.covered:
            self.covered = covered

    def _write_across(self, offset: int, entries: bytes) -> None:
        if offset > self.end or not self.bases:
            self._fill_gap(offset)
        at = offset * ENTRY_BYTES
        while entries:
            base = at - at % self._file_bytes
            path = self.path(base)
            descriptor = self._descriptors.get(path, self._file_bytes)
            if base > self.bases[-1]:
                self.bases.append(base)
            part = entries[: base + self._file_bytes - at]
            write_all(descriptor, part, at - base)
            at += len(part)
            entries = entries[len(part) :]
            if base == self.bases[-1]:
                self._open_base, self._open_path = base, path

    def _fill_gap(self, offset: int) -> None:
        at = offset * ENTRY_BYTES
        base = at - at % self._file_bytes
        first = base
        if self.bases and self.bases[-1] == base:
            first = self.end * ENTRY_BYTES
        elif self.bases and self.bases[-1] < base - self._file_bytes:
            # Files between would be missing: the queue starts anew, as one of a restored store does.
            for stale in self.bases:
                self._remove_file(stale)
            self.bases = []
        descriptor = self._descriptors.get(self.path(base), self._file_bytes)
        if first < at:
            write_all(descriptor, FILLER * ((at - first) // ENTRY_BYTES), first - base)
        if not self.bases or self.bases[-1] != base:
            self.bases.append(base)
        if not (self._floor or self.end) and len(self.bases) == 1:
            self._floor = offset

    def enter(self, offset: int, entries: bytes, covered: int) -> bool:
        """As `write`, from the log again: what is there already is left alone. Whether it was not there.

        `offset` may lie before the first file. Raises OSError.
        """
        at, size = offset * ENTRY_BYTES, len(entries)
        if self.bases and at < self.bases[0]:
            missing = range(at - at % self._file_bytes, self.bases[0], self._file_bytes)
            self.bases[:0] = missing
            for base in missing:
                self._descriptors.get(self.path(base), self._file_bytes)
        if offset + size // ENTRY_BYTES <= self.end and self._holds(at, entries):
            self.covered = max(self.covered, covered)
            return False
        self.write(offset, entries, covered)
        self.dirty_bytes = max(self.dirty_bytes, self.end * ENTRY_BYTES - at)
        return True

    def _holds(self, at: int, entries: bytes) -> bool:
        while entries:
            base = at - at % self._file_bytes
            size = min(len(entries), base + self._file_bytes - at)
            descriptor = self._descriptors.get(self.path(base), self._file_bytes)
            if os.pread(descriptor, size, at - base) != entries[:size]:
                return False
            at += size
            entries = entries[size:]
        return True

    def raise_to(self, end: int) -> None:
        """Let the queue go on at `end`: the offsets before it were given away, whatever the log has lost."""
        if not self.bases:
            self.end = self.next_offset = self._floor = max(self.end, end)
            self._floor_for = -1
            return
        while self.end < end:
            count = min(end - self.end, self._file_bytes // ENTRY_BYTES)
            self.write(self.end, FILLER * count, self.covered)

    def read(self, offset: int, count: int) -> bytes:
        """Up to `count` entries from queue offset `offset` on, within one file."""
        count = min(count, self.end - offset)
        at = offset * ENTRY_BYTES
        base = at - at % self._file_bytes
        if count <= 0 or not self.bases or base < self.bases[0]:
            return b""
        size = min(count * ENTRY_BYTES, base + self._file_bytes - at)
        try:
            return os.pread(self._descriptors.get(self.path(base)), size, at - base)
        except FileNotFoundError:
            return b""

    def read_elsewhere(self, offset: int, count: int) -> bytes:
        """As `read`, for threads that do not own the store: with a descriptor of its own."""
        count = min(count, self.end - offset)
        at = offset * ENTRY_BYTES
        base = at - at % self._file_bytes
        if count <= 0:
            return b""
        try:
            descriptor = os.open(self.path(base), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        try:
            return os.pread(descriptor, min(count * ENTRY_BYTES, base + self._file_bytes - at), at - base)
        finally:
            os.close(descriptor)

    def entry(self, offset: int) -> tuple[int, int, int] | None:
        """(log offset, record size, tags code) at queue offset `offset`."""
        raw = self.read(offset, 1)
        if len(raw) < ENTRY_BYTES:
            return None
        physical, size, code = ENTRY.unpack(raw)
        return None if size <= 0 else (physical, size, code)

    def min_offset(self, log_start: int) -> int:
        """First queue offset whose record the log still holds from `log_start` on; `end` when none is."""
        if log_start == self._floor_for:
            return self._floor
        low = max(self._floor, self.bases[0] // ENTRY_BYTES if self.bases else 0)
        self._floor, self._floor_for = self.first_from(log_start, low), log_start
        return self._floor

    def first_from(self, log_offset: int, low: int) -> int:
        """First queue offset from `low` on whose record lies at `log_offset` or behind; `end`: none does."""

        def is_reached(offset: int) -> bool:
            # A filler stands for the record behind it: there may be some between records.
            listed = self.listed_from(offset)
            return listed is None or listed[1] >= log_offset

        found = self.listed_from(bisect_left(range(self.end), True, low, self.end, key=is_reached))
        return self.end if found is None else found[0]

    def listed_from(self, offset: int) -> tuple[int, int] | None:
        """Queue offset and log offset of the first record that is listed at `offset` or behind."""
        while raw := self.read(offset, _ENTRIES_AT_ONCE):
            for physical, size, _ in ENTRY.iter_unpack(raw):
                if 0 < size != FILLER_SIZE:  # an empty one is damaged
                    return offset, physical
                offset += 1
        return None

    def listed_within(self, start: int, end: int) -> tuple[int, int]:
        """The queue offsets, first and behind the last, whose records lie in [start, end) of the log."""
        first = self.first_from(start, self.bases[0] // ENTRY_BYTES if self.bases else 0)
        behind_last = self.first_from(end, first)
        while behind_last > first and not behind(self.entry(behind_last - 1)):
            behind_last -= 1
        return first, behind_last

    def blot(self, start: int, end: int) -> list[str]:
        """Put fillers in the place of the entries from queue offset `start` to before `end`. Raises OSError.

        Returns the files that have to be synced.
        """
        self._write_across(start, FILLER * (end - start))
        first, behind_last = start * ENTRY_BYTES, end * ENTRY_BYTES
        return [
            self.path(base) for base in self.bases if base < behind_last and base + self._file_bytes > first
        ]

    def drop_files_before(self, log_start: int) -> int:
        """Delete files whose last entry lies before `log_start` (never the last file); how many went."""
        dropped = 0
        while len(self.bases) > 1:
            behind_file = self.bases[1] // ENTRY_BYTES
            last = self.entry(behind_file - 1)
            if last is not None and last[0] >= log_start:
                break
            if behind(last) == 0 and self.first_from(log_start, self.bases[0] // ENTRY_BYTES) < behind_file:
                break  # the last is a filler, and others before it are still wanted
            self._remove_file(self.bases[0])  # stays in the list when it fails
            del self.bases[0]
            dropped += 1
        return dropped

    def restore(self, bases: list[int], floor: int, floor_for: int, end: int, covered: int) -> None:
        """Take over what is known of the files on disk."""
        self.bases = bases
        self._floor, self._floor_for = floor, floor_for
        self.end = self.next_offset = end
        self.covered = covered

    def cut(self, end: int, covered: int) -> None:
        """Make `end` the first queue offset without an entry; what follows becomes zeros."""
        at = end * ENTRY_BYTES
        while self.bases and self.bases[-1] >= at and (len(self.bases) > 1 or self.bases[-1] > at or at == 0):
            self._remove_file(self.bases.pop())
        if self.bases:
            path = self.path(self.bases[-1])
            descriptor = self._descriptors.get(path)
            os.ftruncate(descriptor, min(at - self.bases[-1], self._file_bytes))
            os.ftruncate(descriptor, self._file_bytes)
        self.end = self.next_offset = end
        self.covered = covered
        self._floor = min(self._floor, end)

    def _remove_file(self, base: int) -> None:
        path = self.path(base)
        if path == self._open_path:
            self._open_path = ""
        self._descriptors.forget(path)
        Path(path).unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete all files and the folder."""
        for base in self.bases:
            self._remove_file(base)
        self.bases = []
        self.end = self.next_offset = self._floor = 0
        directory = Path(self.directory)
        if directory.is_dir():
            for stray in directory.iterdir():
                stray.unlink()
            directory.rmdir()

    def dirty_paths(self) -> list[str]:
        """Files that the next flush has to sync; forgets that they are dirty."""
        first = max(0, self.end * ENTRY_BYTES - self.dirty_bytes)
        self.dirty_bytes = 0
        return [self.path(base) for base in self.bases if base + self._file_bytes > first]

    @property
    def entries_per_file(self) -> int:
        """How many entries a file holds."""
        return self._file_bytes // ENTRY_BYTES

    @property
    def min_offset_known(self) -> int:
        """The smallest offset as it was looked up last; 0 when it never was."""
        return self._floor

    @property
    def floor(self) -> tuple[int, int]:
        """The smallest offset, and the log start for which it was looked up."""
        return self._floor, self._floor_for


def entries_in(descriptor: int, entries_max: int) -> int:
    """How many entries a queue file of `entries_max` has that is filled from its beginning without a gap."""

    def is_empty(number: int) -> bool:
        raw = os.pread(descriptor, ENTRY_BYTES, number * ENTRY_BYTES)
        return len(raw) < ENTRY_BYTES or bool(ENTRY.unpack(raw)[1] <= 0)

    return bisect_left(range(entries_max), True, key=is_empty)


def behind(entry: tuple[int, int, int] | None) -> int:
    """The log offset behind the record of `entry`; 0 for a filler and for none."""
    return 0 if entry is None or entry[1] == FILLER_SIZE else entry[0] + entry[1]
