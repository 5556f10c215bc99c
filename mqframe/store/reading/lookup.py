"""Reads of queues from an offset on."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Final

from mqframe.core.storage.agreement import place_of
from mqframe.core.storage.found import Found, GetStatus
from mqframe.core.storage.record import HEAD
from mqframe.core.storage.record_filter import RecordFilter
from mqframe.core.wire.frame import Body
from mqframe.store.files.log_file import LogFile
from mqframe.store.files.log_files import LogFiles
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.choosing import GAP_BYTES_MAX, Chosen, Fetch, Stretch, choose, read_window, windows
from mqframe.store.queues.consume_queue import ConsumeQueue
from mqframe.store.reading.fitting import Damaged, Unsound, checked, fit, need_sound
from mqframe.store.reading.mending import Mending
from mqframe.store.settings import StoreSettings

_PARTS_JOINED_FROM: Final = 32
_AHEAD_BYTES, _AHEAD_BYTES_MAX = 4096, 64 << 10
"""How much is copied with a record that a filter looks at: little at first, for the next may be far away."""


class _WaitsForDisk(Exception):
    """Memory does not hold what is to be read."""


class Lookup:
    """Finds the records of queues of one store.

    `mending`: puts entries right that are damaged. `repair`: sets the damaged record at a log offset aside,
    so that queues do not list it any more.
    """

    def __init__(
        self, settings: StoreSettings, files: MessageFiles, mending: Mending, repair: Callable[[int], object]
    ) -> None:
        self._recent_bytes = settings.mapped_read_bytes
        self._scan_entries_max = settings.scan_entries_max
        self._log, self._queues, _, _ = files
        self._mending = mending
        self._repair = repair

    def outside(self, queue: ConsumeQueue | None, offset: int) -> Found | None:
        """The answer for an `offset` at which `queue` holds no record; `None` when it does."""
        if queue is None:
            return Found(GetStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        low, high = queue.min_offset(self._log.start), queue.end
        if high == 0:
            return Found(GetStatus.NO_MESSAGE_IN_QUEUE, 0, low, high)
        if offset < low:
            return Found(GetStatus.OFFSET_TOO_SMALL, low, low, high)
        if offset == high:
            return Found(GetStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
        if offset > high:
            return Found(GetStatus.OFFSET_OVERFLOW_BADLY, high, low, high)
        return None

    def get(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        codes: Container[int] | None,
        bytes_max: int,
        mapped_from: int,
        records: RecordFilter | None = None,
    ) -> Found | None:
        """Up to `max_messages` records from queue offset `offset` on (GetMessageStatus.java).

        Records from log offset `mapped_from` on are slices of the map, older ones are copied.
        `None`: the disk would have to be waited for (`get_elsewhere` does).
        """
        queue = self._queues.get((topic, queue_id))
        nothing = self.outside(queue, offset)
        if nothing is not None or queue is None:
            return nothing or Found(GetStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        count = self._entries_to_scan(max_messages, codes, records)
        entries = queue.read(offset, count)
        low, high = queue.min_offset(self._log.start), queue.end
        if not entries:
            return Found(GetStatus.OFFSET_FOUND_NULL, self._next_file(offset), low, high)
        fetch: Fetch | None = None
        if records is not None:
            fetch = self._fetching(mapped_from)
            if offset < queue.loaded:
                fetch = checked(fetch, queue)
        try:
            chosen = choose(
                entries, offset, max_messages, codes, bytes_max, self._log.start, self._log.file_bytes,
                records, fetch,
            )  # fmt: skip
            if chosen.odd or not self._can_be(chosen, bytes_max):
                raise Damaged
            parts = self._parts(chosen.stretches, mapped_from)
            if self._is_old(queue, offset, chosen) and not fit(queue, entries, offset, chosen, parts):
                raise Damaged
            self._need_sound(queue, offset, chosen, parts, whole=codes is None and records is None)
        except _WaitsForDisk:
            return None
        except Unsound as damage:
            self._repair(damage.offset)
            return self.get(topic, queue_id, offset, max_messages, codes, bytes_max, mapped_from, records)
        except Damaged:
            if mapped_from:
                return None
            if not self._mending.mend(queue, offset, count):
                return Found(GetStatus.MESSAGE_WAS_REMOVING, offset + 1, low, high)
            return self.get(topic, queue_id, offset, max_messages, codes, bytes_max, mapped_from, records)
        return Found(chosen.status, chosen.following, low, high, parts, chosen.found, chosen.size_bytes)

    def _need_sound(
        self, queue: ConsumeQueue, offset: int, chosen: Chosen, parts: list[Body], *, whole: bool
    ) -> None:
        """Check what this process did not write, once. `whole`: nothing from `offset` on was filtered out."""
        if offset < queue.loaded and not queue.checked.has(offset, chosen.following):
            need_sound(chosen.stretches, parts)
            if whole:
                queue.checked.add(offset, chosen.following)

    def _is_old(self, queue: ConsumeQueue, offset: int, chosen: Chosen) -> bool:
        """Whether entries may have been on the disk alone since they were written."""
        if offset < queue.loaded:
            return True
        recent = self._log.end - self._recent_bytes
        return bool(chosen.stretches) and chosen.stretches[0][0] < recent

    def _can_be(self, chosen: Chosen, bytes_max: int) -> bool:
        """Whether a read that is larger than was asked for is one large record, and lies in the log."""
        if not chosen.stretches:
            return True
        start, end = chosen.stretches[-1]
        if end > self._log.end:
            return False
        if chosen.size_bytes <= bytes_max:
            return True
        head = self._log.slice(start, HEAD.size)
        return (
            head is not None
            and place_of(head, 0) is not None
            and int.from_bytes(head[:4], "big") == end - start
        )

    def _parts(self, stretches: list[Stretch], mapped_from: int) -> list[Body]:
        """Stretches from log offset `mapped_from` on as slices of the map, older ones copied.

        Raises `_WaitsForDisk`.
        """
        if not stretches:
            return []
        parts: list[Body] = []
        if stretches[0][0] < mapped_from:
            older = [stretch for stretch in stretches if stretch[0] < mapped_from]
            stretches = stretches[len(older) :]
            for window in windows(older, self._log.start, self._log.file_bytes):
                parts += read_window(window, self._copy_now) or ()
        base = stop = -1
        view = memoryview(b"")
        for start, end in stretches:
            if not base <= start < stop:
                file = self._log.file_at(start)
                if file is None:
                    continue
                view, base, stop = file.view, file.base, file.base + file.size
            parts.append(view[start - base : end - base])
        return parts

    def _entries_to_scan(
        self, max_messages: int, codes: Container[int] | None, records: RecordFilter | None
    ) -> int:
        if codes is None and records is None:
            return max_messages
        if records is not None:
            return self._scan_entries_max  # each costs what a filter costs, however many are asked for
        return max(self._scan_entries_max, max_messages)

    def _fetching(self, mapped_from: int) -> Fetch:
        """Gives records from log offset `mapped_from` on as slices of the map, older ones copied.

        Those that lie near to each other are copied together. Raises `_WaitsForDisk`.
        """
        log = self._log
        view, base, stop = memoryview(b""), 0, 0  # what has the last record, and most often the next
        ahead = _AHEAD_BYTES

        def fetch(start: int, size: int) -> Body | None:
            nonlocal view, base, stop, ahead
            if not base <= start <= stop - size:
                file = log.file_at(start)
                if file is None or start >= log.end:
                    return None
                end = min(file.base + file.size, log.end)
                if start >= mapped_from:
                    view, base, stop = file.view, file.base, end
                else:
                    near = base <= start <= stop + GAP_BYTES_MAX
                    ahead = min(2 * ahead, _AHEAD_BYTES_MAX) if near else _AHEAD_BYTES
                    view = _copied(file, start, size, max(size, min(ahead, end - start)))
                    base, stop = start, start + len(view)
            return view[start - base : start - base + size]

        return fetch

    def _copy_now(self, start: int, size: int) -> Body | None:
        file = self._log.file_at(start)
        return None if file is None else _copied(file, start, size, size)

    def _next_file(self, offset: int) -> int:
        per_file = self._queues.entries_per_file
        return offset - offset % per_file + per_file

    def get_elsewhere(
        self,
        queue: ConsumeQueue,
        offset: int,
        max_messages: int,
        codes: Container[int] | None,
        bytes_max: int,
        low: int,
        records: RecordFilter | None = None,
    ) -> Found:
        """As `get`, in a thread that does not own the store: reads files by descriptors of its own.

        Raises `Unsound` for a damaged record.
        """
        count = self._entries_to_scan(max_messages, codes, records)
        entries = queue.read_elsewhere(offset, count)
        if not entries:
            return Found(GetStatus.OFFSET_FOUND_NULL, self._next_file(offset), low, queue.end)
        start, file_bytes = self._log.start, self._log.file_bytes
        with self._own_files() as files:
            try:
                chosen = choose(
                    entries, offset, max_messages, codes, bytes_max, start, file_bytes, records,
                    checked(files.fetch, queue),
                )  # fmt: skip
            except Damaged:
                return self._mended(queue, offset, max_messages, codes, bytes_max, low, records)
            if chosen.odd or not self._can_be(chosen, bytes_max):
                return self._mended(queue, offset, max_messages, codes, bytes_max, low, records)
            parts: list[Body] = []
            for window in windows(chosen.stretches, start, file_bytes):
                read = read_window(window, files.fetch)
                if read is None:
                    return self._mended(queue, offset, max_messages, codes, bytes_max, low, records)
                parts += read
        if not fit(queue, entries, offset, chosen, parts) and offset >= queue.min_offset_known:
            return self._mended(queue, offset, max_messages, codes, bytes_max, low, records)
        self._need_sound(queue, offset, chosen, parts, whole=codes is None and records is None)
        if len(parts) > _PARTS_JOINED_FROM:
            parts = [b"".join(parts)]  # here rather than on the loop
        return Found(chosen.status, chosen.following, low, queue.end, parts, chosen.found, chosen.size_bytes)

    def _mended(
        self,
        queue: ConsumeQueue,
        offset: int,
        max_messages: int,
        codes: Container[int] | None,
        bytes_max: int,
        low: int,
        records: RecordFilter | None,
    ) -> Found:
        """As `get_elsewhere`, once the entries say what the log says."""
        if self._mending.mend(queue, offset, self._entries_to_scan(max_messages, codes, records)):
            return self.get_elsewhere(queue, offset, max_messages, codes, bytes_max, low, records)
        # Nothing is wrong with them: their records went from the log meanwhile.
        return Found(GetStatus.MESSAGE_WAS_REMOVING, offset + 1, low, queue.end)

    def records(self, places: Sequence[tuple[int, int]], mapped_from: int) -> list[Body | None] | None:
        """The records at these (log offset, size), `None` for one that is not there (any more).

        `None` for all: the disk would have to be waited for (`records_elsewhere` does).
        """
        found: list[Body | None] = []
        for start, size in places:
            if start >= mapped_from:
                found.append(self._log.slice(start, size))
                continue
            file = self._log.file_at(start)
            if file is None or start + size > self._log.end:
                found.append(None)
                continue
            read = file.read_now(start - file.base, size)
            if read is None:
                return None
            found.append(read)
        return found

    def records_elsewhere(self, places: Sequence[tuple[int, int]]) -> list[Body | None]:
        """As `records`, in a thread that does not own the store."""
        log = self._log
        with self._own_files() as files:
            return [
                files.fetch(start, size) if log.start <= start and start + size <= log.end else None
                for start, size in places
            ]

    def _own_files(self) -> LogFiles:
        return LogFiles(self._log.directory, self._log.start, self._log.file_bytes)


def _copied(file: LogFile, start: int, size: int, wanted: int) -> memoryview:
    """`wanted` bytes from log offset `start` on, or the `size` that are needed. Raises `_WaitsForDisk`."""
    read = file.read_now(start - file.base, wanted)
    if read is None and wanted > size:
        read = file.read_now(start - file.base, size)
    if read is None:
        raise _WaitsForDisk
    return memoryview(read)
