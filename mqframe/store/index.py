"""The key index: its files, in order of their making (store.md §3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from mqframe.core.java_hash import index_hash, unsigned_hash
from mqframe.store.index_file import IndexFile
from mqframe.store.log_file import Allocate

log: Final = structlog.get_logger("mqframe.store")
_PREFIXES_MAX: Final = 20_000


class KeyIndex:
    """All index files below `directory`. `now_ms` names new files."""

    def __init__(
        self, directory: Path, slots: int, entries: int, allocate: Allocate, now_ms: Callable[[], int]
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
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
        self._prefixes: dict[str, int] = {}
        self._last_key = ("", "")
        self._last_hash = 0
        self._repeat_from = 0

    def load(self, trusted_until_ms: int | None) -> None:
        """Open the files; with `trusted_until_ms` (after a crash) those that end later are deleted."""
        for path in sorted(self._directory.iterdir()):
            if len(path.name) != 17 or not path.name.isdecimal():
                continue
            wanted = 40 + self._slots * 4 + self._entries * 20
            if path.stat().st_size != wanted:
                log.warning("index file of a wrong size is deleted", file=str(path), wanted_bytes=wanted)
                path.unlink()
                continue
            file = IndexFile(path, self._slots, self._entries)
            damaged = file.count > self._entries or file.end_offset < file.begin_offset
            if damaged or (trusted_until_ms is not None and file.end_timestamp > trusted_until_ms):
                file.remove()
                continue
            self.files.append(file)
        if self.files:
            self._repeat_from = self.files[-1].end_offset

    @property
    def covered(self) -> int:
        """Log offset of the last record in the index, bytes."""
        return self.files[-1].end_offset if self.files else 0

    def add(self, topic: str, keys: Sequence[str], offset: int, timestamp: int) -> None:
        """Note the record at log `offset`, stored at `timestamp` (ms), under its keys. Raises OSError."""
        if offset < self._repeat_from:
            return
        file = self._writing
        for key in keys:
            if file is None or file.count >= self._entries:
                file = self._writable()
            file.add(self.hash_of(topic, key), offset, timestamp)

    def hash_of(self, topic: str, key: str) -> int:
        """The index hash of `topic#key`."""
        asked = (topic, key)
        if asked == self._last_key:
            return self._last_hash
        prefix = self._prefixes.get(topic)
        if prefix is None:
            if len(self._prefixes) >= _PREFIXES_MAX:
                self._prefixes.clear()
            prefix = self._prefixes[topic] = unsigned_hash(f"{topic}#")
        value = unsigned_hash(key, prefix)
        if value >= 0x80000000:
            value = (0x100000000 - value) & 0x7FFFFFFF
        self._last_key, self._last_hash = asked, value
        return value

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
        while True:
            moment = datetime.fromtimestamp(now // 1000)
            path = self._directory / f"{moment:%Y%m%d%H%M%S}{now % 1000:03d}"
            if not path.exists() and (not self.files or path.name > self.files[-1].path.name):
                return path
            now += 1

    def write(self) -> None:
        """Put noted entries into the file. Raises OSError; may be repeated."""
        if self._writing is not None:
            self._writing.write()

    def offsets(self, topic: str, key: str, begin: int, end: int) -> Iterator[int]:
        """Log offsets of records that may have `key`, newest first, stored from `begin` to `end` (ms)."""
        key_hash = index_hash(f"{topic}#{key}")
        for file in reversed(self.files):
            if file.matches_time(begin, end):
                yield from file.offsets(key_hash, begin, end)
            if file.begin_timestamp < begin:
                return

    def follow_log(self, log_start: int) -> int:
        """Delete files that end before `log_start` (never the last file); how many went."""
        dropped = 0
        while len(self.files) > 1 and self.files[0].end_offset < log_start:
            gone = self.files.pop(0)
            if gone in self.filled:
                self.filled.remove(gone)
            gone.remove()
            dropped += 1
        return dropped

    def cut_after(self, log_end: int) -> None:
        """Delete files that name records at or past `log_end`: they are built again."""
        while self.files and self.files[-1].end_offset >= log_end and self.files[-1].count > 1:
            self.files.pop().remove()
            self._writing = None
        self._repeat_from = self.covered
        self.noted = 0

    def close(self) -> None:
        """Close all files."""
        for file in self.files:
            file.close()
        self.files = []
        self._writing = None
