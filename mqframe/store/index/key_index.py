"""The key index: its files, in order of their making (store.md §3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from mqframe.core.messages.java_hash import index_hash
from mqframe.log import get_logger
from mqframe.store.files.log_file import Allocate
from mqframe.store.files.modes import make_folder
from mqframe.store.index.index_file import IndexFile, Looks
from mqframe.store.index.key_hashes import KeyHashes

log: Final = get_logger("store")
LOOKS_MAX: Final = 16_384
"""Entries that one search looks at, of records with other keys of the same hash or another time, too."""


class KeyIndex:
    """All index files below `directory`. `now_ms` names new files."""

    def __init__(
        self, directory: Path, slots: int, entries: int, allocate: Allocate, now_ms: Callable[[], int]
    ) -> None:
        self.lost = not directory.is_dir()
        """Whether entries are missing that the log's records up to its end should have."""
        make_folder(directory)
        self._directory = directory
        self._slots = slots
        self._entries = entries
        self._allocate = allocate
        self._now_ms = now_ms
        self.files: list[IndexFile] = []
        self.filled: list[IndexFile] = []
        """Files that became full since the last flush."""
        self.noted = 0
        """Log offset up to which appends have been handed over; a repeated one is passed over."""
        self._writing: IndexFile | None = None
        self._hashes = KeyHashes()
        self._repeat_from = 0

    @property
    def repeat_from(self) -> int:
        """Log offset before which all is indexed; what is added again from there is passed over."""
        return self._repeat_from

    def load(self) -> None:
        """Open the files. Damaged ones, and all after them, are deleted, to be built again."""
        unwritten = False
        for path in sorted(self._directory.iterdir()):
            if len(path.name) != 17 or not path.name.isdecimal():
                continue
            expected = 40 + self._slots * 4 + self._entries * 20
            if path.stat().st_size != expected or self.lost:
                log.warning("damaged index file is built again", file=str(path), expected_bytes=expected)
                path.unlink()
                self.lost = True
                continue
            file = IndexFile(path, self._slots, self._entries)
            if file.is_unwritten:
                file.remove()  # whatever its header took over: it covers nothing, not even log offset 0
                unwritten = True
                continue
            if unwritten or file.count > self._entries or not 0 <= file.begin_offset <= file.end_offset:
                log.warning("damaged index file is built again", file=str(path), entries=file.count)
                file.remove()
                self.lost = True
                continue
            self.files.append(file)
        if self.lost:
            self.drop_from(len(self.files))
        self._repeat_from = self.covered + 1 if self.files else 0

    def drop_from(self, number: int) -> None:
        """Delete the files from `number` on; they have to be built of the log again, see `lost`."""
        self.lost = True
        for file in reversed(self.files[number:]):
            file.remove()
        del self.files[number:]
        # The keys of one record may lie in two files: the record that the rest ends with is entered again.
        self.rewind(self.covered)

    def rows(self) -> list[tuple[str, int, int]]:
        """What a note says of the files: name, number of the next entry, log offset of the last record."""
        return [(file.path.name, file.count, file.end_offset) for file in self.files if file.count > 1]

    def expect(self, rows: Sequence[tuple[str, int, int]], log_start: int) -> None:
        """Drop files that hold less than `rows`, noted before, says; what lies before the log counts not."""
        held = {file.path.name: file.count for file in self.files}
        for name, count, end_offset in rows:
            if held.get(name, 0) < count and end_offset >= log_start:
                log.warning("index file lost or too short; built again", file=name)
                self.drop_from(sum(file.path.name < name for file in self.files))
                return

    def rewind(self, log_offset: int, *, torn: bool = False) -> None:
        """Take back the entries of records at or past `log_offset`; a file where that fails is `lost`.

        `torn`: of what was written last, the disk may hold any part.
        """
        self._writing = None
        self.noted = 0
        while self.files and self.files[-1].begin_offset >= log_offset:
            self.files.pop().remove()
        if self.files:
            file = self.files[-1]
            agrees = file.end_offset < log_offset or file.rewind(log_offset)
            if not (agrees and (not torn or file.mend_slots())):
                log.warning("index file contradicts itself and is built again", file=str(file.path))
                self.drop_from(len(self.files) - 1)
        self._repeat_from = self.covered + 1 if self.files else 0

    @property
    def covered(self) -> int:
        """Log offset of the last record in the index, bytes."""
        return self.files[-1].end_offset if self.files else 0

    def add(self, topic: str, indexed: Sequence[tuple[int, Sequence[str]]], timestamp: int) -> None:
        """Note records of `topic`, all stored at `timestamp` (ms), as (log offset, keys). Raises OSError."""
        pairs = self._hashes.pairs(topic, indexed, self._repeat_from)
        while pairs:
            file = self._writing or self._writable()
            taken = file.add(pairs, timestamp)
            if taken == len(pairs):
                return
            del pairs[:taken]
            self._writable()

    def _writable(self) -> IndexFile:
        last = self.files[-1] if self.files else None
        if last is not None and not last.full:
            last.open_to_write(self._allocate)
            self._writing = last
            return last
        if last is not None:
            last.write()
            self.filled.append(last)
        file = IndexFile.create(
            self._new_path(),
            self._slots,
            self._entries,
            last.end_timestamp if last else 0,
            last.end_offset if last else 0,
            self._allocate,
        )
        file.open_to_write(self._allocate)
        self.files.append(file)
        self._writing = file
        return file

    def _new_path(self) -> Path:
        now = self._now_ms()
        moment = datetime.fromtimestamp(now // 1000)
        number = int(f"{moment:%Y%m%d%H%M%S}{now % 1000:03d}")
        if self.files:
            # Names are read in their order: where the clock was set back, they go on behind the last one.
            number = max(number, int(self.files[-1].path.name) + 1)
        while (path := self._directory / f"{number:017d}").exists():
            number += 1
        return path

    def write(self) -> None:
        """Put noted entries into the file. Raises OSError; may be repeated."""
        if self._writing is not None:
            self._writing.write()

    def offsets(self, topic: str, key: str, begin: int, end: int) -> Iterator[int]:
        """Log offsets of records that may have `key`, newest first, stored from `begin` to `end` (ms).

        No more than `LOOKS_MAX` entries are looked at: those of a common key may be millions.
        """
        looks = Looks(LOOKS_MAX)
        key_hash = index_hash(f"{topic}#{key}")
        for file in reversed(self.files):
            if file.matches_time(begin, end):
                yield from file.offsets(key_hash, begin, end, looks)
            if file.begin_timestamp < begin:
                return

    def follow_log(self, log_start: int) -> int:
        """Delete files that end before `log_start` (never the last file); how many went."""
        dropped = 0
        while len(self.files) > 1 and self.files[0].end_offset < log_start:
            self.files[0].path.unlink(missing_ok=True)  # first, so that it is tried again when it fails
            gone = self.files.pop(0)
            if gone in self.filled:
                self.filled.remove(gone)
            gone.close()
            dropped += 1
        return dropped

    def close(self) -> None:
        """Close all files."""
        for file in self.files:
            file.close()
        self.files = []
        self._writing = None
