"""The index of keys: its files, in order of their making (store.md §3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final, cast

from mqframe.core.messages.properties import UNIQUE_KEY, find_property
from mqframe.core.storage.dispatch_facts import index_keys
from mqframe.hooks.interfaces.key_index import (
    KeyFile,
    KeyQuery,
    NotedFile,
    QueryFound,
    RecordLookup,
    RecoveredLog,
)
from mqframe.log import get_logger
from mqframe.store.files.log_file import Allocate
from mqframe.store.files.modes import make_folder
from mqframe_index.store.agreement import IndexAgreement
from mqframe_index.store.index_file import IndexFile, Looks
from mqframe_index.store.key_hashes import KeyHashes, index_hash
from mqframe_index.store.new_entries import HashedPairs, NewEntries, Pairs, PlainEntries

_log: Final = get_logger("store")
LOOKS_MAX: Final = 16_384
"""Entries that one search looks at, of records with other keys of the same hash or another time, too."""
_QUERY_MAX: Final = 64
_QUERY_LOOKS_MAX: Final = 1024
_QUERY_BYTES_MAX: Final = 4 << 20


class IndexFiles:
    """A `KeyIndex`: all index files below `directory`. `now_ms` names new files."""

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
        self._writing: IndexFile | None = None
        self._hashes = KeyHashes()
        self._new_entries: Callable[[int], NewEntries] = PlainEntries
        self._hashed: type | None = None
        self._repeat_from = 0

    def note_in(self, new_entries: Callable[[int], NewEntries], hashed: type) -> None:
        """Keep entries that are not in a file yet in what this makes, of so many slots, from now on.

        `hashed`: the class of `HashedPairs` that `add` gets in place of keys, from whoever made their hashes.
        """
        self._new_entries, self._hashed = new_entries, hashed
        if self._writing is not None:
            self._writing.note_in(new_entries)

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
                _log.warning("damaged index file is built again", file=str(path), expected_bytes=expected)
                path.unlink()
                self.lost = True
                continue
            file = IndexFile(path, self._slots, self._entries)
            if file.is_unwritten:
                file.remove()  # whatever its header took over: it covers nothing, not even log offset 0
                unwritten = True
                continue
            if unwritten or file.count > self._entries or not 0 <= file.begin_offset <= file.end_offset:
                _log.warning("damaged index file is built again", file=str(path), entries=file.count)
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

    def rows(self) -> list[NotedFile]:
        """What a note says of the files: name, number of the next entry, log offset of the last record."""
        return [(file.path.name, file.count, file.end_offset) for file in self.files if file.count > 1]

    def _expect(self, rows: Sequence[NotedFile], log_start: int) -> None:
        """Drop files that hold less than `rows`, noted before, says; what lies before the log counts not."""
        held = {file.path.name: file.count for file in self.files}
        for name, count, end_offset in rows:
            if held.get(name, 0) < count and end_offset >= log_start:
                _log.warning("index file lost or too short; built again", file=name)
                self.drop_from(sum(file.path.name < name for file in self.files))
                return

    def recover(self, log: RecoveredLog, noted: Sequence[NotedFile], start: int, *, torn: bool) -> int | None:
        """As `KeyIndex.recover`."""
        self._expect(noted, log.log_start)  # before anything is taken back that was noted
        # What lies before `start` is on disk, as files are synced before the note that says so. What follows
        # is indexed once more: after a mere kill the last record, whose keys may have been on their way into
        # two files.
        self.rewind(start if torn else max(start, self.covered), torn=torn)
        agreement = IndexAgreement(log, start)
        wrong = agreement.first_wrong(self.files)
        if wrong is not None:
            _log.warning("an index file does not say what the log says", file=str(self.files[wrong].path))
            self.drop_from(wrong)
        if not self.lost and not agreement.keys_found(self.offsets):
            _log.warning("the index lacks keys of the log; it is built again")
            self.drop_from(0)
        if not self.lost:
            return None
        base = log.file_start(self.covered)
        if base is None or not self.files:
            return log.log_start
        return self.covered if log.record(self.covered) is not None else base

    def rewind(self, log_offset: int, *, torn: bool = False) -> None:
        """Take back the entries of records at or past `log_offset`; a file where that fails is `lost`.

        `torn`: of what was written last, the disk may hold any part.
        """
        self._writing = None
        while self.files and self.files[-1].begin_offset >= log_offset:
            self.files.pop().remove()
        if self.files:
            file = self.files[-1]
            agrees = file.end_offset < log_offset or file.rewind(log_offset)
            if not (agrees and (not torn or file.mend_slots())):
                _log.warning("index file contradicts itself and is built again", file=str(file.path))
                self.drop_from(len(self.files) - 1)
        self._repeat_from = self.covered + 1 if self.files else 0

    @property
    def covered(self) -> int:
        """Log offset of the last record in the index, bytes."""
        return self.files[-1].end_offset if self.files else 0

    def add(self, topic: str, indexed: Sequence[tuple[int, Sequence[str]]], timestamp: int) -> None:
        """Note records of `topic`, all stored at `timestamp` (ms), as (log offset, keys). Raises OSError."""
        pairs: Pairs = []
        hashed = None
        if self._hashed is not None and isinstance(indexed, self._hashed):
            hashed = cast("HashedPairs", indexed)
        else:
            pairs = self._hashes.pairs(topic, indexed, self._repeat_from)
        count, taken = len(hashed or pairs), 0
        while taken < count:
            file = self._writing or self._writable()
            if hashed is None:
                taken += file.add(pairs, timestamp, taken)
            else:
                taken += file.add_hashed(hashed, timestamp, taken)
            if taken < count and file.full:
                self._writable()

    def _writable(self) -> IndexFile:
        last = self.files[-1] if self.files else None
        if last is not None and not last.full:
            last.open_to_write(self._allocate)
            last.note_in(self._new_entries)
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
        file.note_in(self._new_entries)
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

    def query(self, asked: KeyQuery, find: RecordLookup) -> QueryFound:
        """Records with exactly this key (a business key or a unique id), newest first.

        No more than 1,024 records are looked at, and about 4 MiB of them are given.
        """
        topic, key, most, begin_ms, end_ms, unique = asked
        last = self.files[-1] if self.files else None
        records: list[bytes] = []
        seen: set[int] = set()
        size = 0
        for offset in islice(self.offsets(topic, key, begin_ms, end_ms), _QUERY_LOOKS_MAX):
            if len(records) >= min(most, _QUERY_MAX) or size >= _QUERY_BYTES_MAX:
                break
            found = find(offset)
            if found is None or offset in seen:
                continue
            record, raw = found
            seen.add(offset)
            if record.topic != topic or not begin_ms <= record.store_timestamp <= end_ms:
                continue
            if unique:
                matches = find_property(record.properties, UNIQUE_KEY) == key
            else:
                matches = key in index_keys(record.properties)
            if matches:
                records.append(bytes(raw))
                size += len(raw)
        return QueryFound(records, last.end_timestamp if last else 0, last.end_offset if last else 0)

    def due(self, *, thorough: bool) -> Sequence[KeyFile]:
        """The files that became full since they were synced; with `thorough` the last one, too."""
        last = self.files[-1:] if thorough else []
        return self.filled + [file for file in last if file not in self.filled]

    def synced(self, files: Sequence[KeyFile]) -> int | None:
        """As `KeyIndex.synced`."""
        synced = [file for file in self.filled if file in files]
        self.filled = [file for file in self.filled if file not in files]
        return max((file.end_timestamp for file in synced), default=None)

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
