"""Consume queues compared with what the log says of them: `Redispatch` enters, and nothing is written."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from mqframe.core.messages.names import SCHEDULE_TOPIC, is_queue_place
from mqframe.core.storage.agreement import LIGHT_PREFIX
from mqframe.core.storage.zeros import data_end
from mqframe.store.files.descriptors import Descriptors
from mqframe.store.files.layout import Layout, file_name
from mqframe.store.incoming import ENTRY_BYTES
from mqframe.store.queues.consume_queue import ENTRY, FILLER, FILLER_SIZE, ConsumeQueue, behind
from mqframe.store.queues.deleted_topics import DeletedTopics
from mqframe.store.queues.queue_files import look
from mqframe.store.queues.queue_table import QueueTable

_DESCRIPTORS_MAX: Final = 512
_DIFFERENCES_MAX: Final = 1000
_BLOCK_BYTES: Final = 1 << 20
_PLACE_BYTES: Final = 12
_EMPTY: Final = bytes(ENTRY_BYTES)


class Difference:
    """Neighbouring entries from queue offset `first` to before `end` that are not what the log says.

    `found` and `expected`: the bytes of the first one.
    """

    __slots__ = ("end", "expected", "first", "found")

    def __init__(self, first: int, end: int, found: bytes, expected: bytes) -> None:
        self.first, self.end, self.found, self.expected = first, end, found, expected


class ComparedQueue(ConsumeQueue):
    """`differences`: in order; `more`: further ones that are not listed; `taken_end`: the queue offset behind
    the last entry that the log knows of, -1 when it knows of none."""

    __slots__ = ("differences", "more", "taken_end")

    def __init__(
        self, root: Path | str, topic: str, queue_id: int, file_bytes: int, descriptors: Descriptors
    ) -> None:
        super().__init__(root, topic, queue_id, file_bytes, descriptors)
        self.differences: list[Difference] = []
        self.more = 0
        self.taken_end = -1

    def find(self) -> None:
        """Look which files there are, and where the last of them ends. Raises OSError."""
        self.bases = [base for base, size in look(self.directory) if size and base % self._file_bytes == 0]
        while self.bases:
            at = self._data_end(self.bases[-1])
            if at or len(self.bases) == 1:
                self.end = self.next_offset = (self.bases[-1] + at) // ENTRY_BYTES
                self.covered = behind(self.entry(self.end - 1)) if self.end else 0
                return
            self.bases.pop()

    def _data_end(self, base: int) -> int:
        """The byte of a file behind the last entry that is not empty."""
        descriptor = self._descriptors.get(self.path(base))
        at = end = 0
        while at < self._file_bytes:
            try:
                start = os.lseek(descriptor, at, os.SEEK_DATA)
            except OSError as problem:
                if problem.errno != errno.ENXIO:
                    raise
                break  # nothing but a hole follows
            at = os.lseek(descriptor, start, os.SEEK_HOLE)
            for block in range(start, at, _BLOCK_BYTES):
                data = os.pread(descriptor, min(_BLOCK_BYTES, at - block), block)
                stop = data_end(data, 0, len(data))
                end = block + stop if stop else end
        return -(-min(end, self._file_bytes) // ENTRY_BYTES) * ENTRY_BYTES

    def read(self, offset: int, count: int) -> bytes:
        """As `ConsumeQueue.read`; of a file that was cut off whole entries."""
        raw = super().read(offset, count)
        return raw[: len(raw) - len(raw) % ENTRY_BYTES]

    def enter(self, offset: int, entries: bytes, covered: int) -> bool:
        """Compare `entries`, which belong at queue offset `offset`; nothing is written. Returns False."""
        self.taken_end = max(self.taken_end, offset + len(entries) // ENTRY_BYTES)
        self.covered = max(self.covered, covered)
        while entries:
            held = self.read(offset, len(entries) // ENTRY_BYTES)
            size = len(held) or min(
                len(entries), (self._file_bytes - offset * ENTRY_BYTES % self._file_bytes)
            )
            if held != entries[:size]:
                self._differ(offset, held, entries[:size])
            offset += size // ENTRY_BYTES
            entries = entries[size:]
        return False

    def _differ(self, offset: int, held: bytes, entries: bytes) -> None:
        compared = _PLACE_BYTES if self.topic == SCHEDULE_TOPIC else ENTRY_BYTES
        for at in range(0, len(entries), ENTRY_BYTES):
            found, expected = held[at : at + ENTRY_BYTES] or _EMPTY, entries[at : at + ENTRY_BYTES]
            if found[:compared] != expected[:compared]:
                self._note(offset + at // ENTRY_BYTES, found, expected)

    def _note(self, offset: int, found: bytes, expected: bytes) -> None:
        last = self.differences[-1] if self.differences else None
        alike = last is not None and last.end == offset and (
            (last.found == _EMPTY, last.expected == FILLER) == (found == _EMPTY, expected == FILLER)
        )  # fmt: skip
        if last is not None and alike:
            last.end = offset + 1
        elif len(self.differences) < _DIFFERENCES_MAX:
            self.differences.append(Difference(offset, offset + 1, found, expected))
        else:
            self.more += 1

    def cut(self, end: int, covered: int) -> None:
        """The log's records go on at queue offset `end`: what it said before of later ones does not count."""
        self.differences = [each for each in self.differences if each.first < end]
        for each in self.differences:
            each.end = min(each.end, end)
        self.taken_end = end
        self.covered = covered

    def ahead(self, log_start: int) -> list[Difference]:
        """Entries behind all that the log knows of; none of those that are no longer in the log."""
        first = self.taken_end
        if first < 0:
            first = self.first_from(log_start, self.bases[0] // ENTRY_BYTES if self.bases else 0)
        ahead: list[Difference] = []
        while raw := self.read(first, _BLOCK_BYTES // ENTRY_BYTES):
            for at in range(0, len(raw), ENTRY_BYTES):
                entry, offset = raw[at : at + ENTRY_BYTES], first + at // ENTRY_BYTES
                if entry in (FILLER, _EMPTY):
                    continue
                if ahead and ahead[-1].end == offset:
                    ahead[-1].end = offset + 1
                elif len(ahead) < _DIFFERENCES_MAX:
                    ahead.append(Difference(offset, offset + 1, entry, _EMPTY))
            first += len(raw) // ENTRY_BYTES
        return ahead

    def place(self, offset: int) -> tuple[Path, int]:
        """The file in which the entry at queue offset `offset` lies, or belongs, and its byte there."""
        at = offset * ENTRY_BYTES % self._file_bytes
        return Path(self.directory, file_name(offset * ENTRY_BYTES - at)), at


class ComparedQueues(QueueTable):
    """All queues of a store for reading. Raises OSError."""

    kind = ComparedQueue

    def __init__(self, layout: Layout, file_bytes: int, deleted: DeletedTopics) -> None:
        super().__init__(layout.queues, file_bytes, 1, deleted)
        self.descriptors = Descriptors(_DESCRIPTORS_MAX, writable=False)

    def find(self, folder: Path) -> list[ComparedQueue]:
        """The queues whose folders are there, with their ends."""
        found = []
        for topic in sorted(folder.iterdir()) if folder.is_dir() else ():
            for path in sorted(topic.iterdir()) if topic.is_dir() else ():
                if path.name.isdecimal() and is_queue_place(topic.name, int(path.name)):
                    queue = self.queue(topic.name, int(path.name))
                    assert isinstance(queue, ComparedQueue)
                    queue.find()
                    found.append(queue)
        return found

    def compared(self) -> list[ComparedQueue]:
        """The queues of which the log can say what they hold: those of light topics list others' records."""
        return [
            queue
            for queue in self
            if isinstance(queue, ComparedQueue) and not queue.topic.startswith(LIGHT_PREFIX)
        ]


def entry_text(entry: bytes) -> str:
    """A queue entry in words."""
    physical, size, code = ENTRY.unpack(entry)
    if entry == _EMPTY:
        return "nothing"
    if size == FILLER_SIZE and not physical:
        return "a filler"
    return f"log offset {physical}, {size} bytes, tags code {code}"
