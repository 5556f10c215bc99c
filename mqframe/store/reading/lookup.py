"""Reads of queues from an offset on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mqframe.core.filtering.record_choice import EVERY, RecordChoice
from mqframe.core.storage.agreement import place_of
from mqframe.core.storage.found import Found, GetStatus
from mqframe.core.storage.record import HEAD
from mqframe.core.wire.frame import Body
from mqframe.store.files.log_files import LogFiles
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.choosing import Chosen, Fetch, LookAhead, Stretch, choose, read_window, windows
from mqframe.store.queues.consume_queue import ConsumeQueue
from mqframe.store.reading.fitting import Damaged, Unsound, checked, fit, need_sound
from mqframe.store.reading.log_window import LogWindow, WaitsForDisk, copied
from mqframe.store.reading.mending import Mending
from mqframe.store.settings import StoreSettings

_PARTS_JOINED_FROM: Final = 32


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

    @property
    def recent(self) -> int:
        """Log offset from which on the map is read: memory is likely to hold the records."""
        return self._log.end - self._recent_bytes

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
        choice: RecordChoice,
        bytes_max: int,
        mapped_from: int,
    ) -> Found | None:
        """Up to `max_messages` records from queue offset `offset` on (GetMessageStatus.java).

        Records from log offset `mapped_from` on are slices of the map, older ones are copied.
        `None`: the disk would have to be waited for (`get_elsewhere` does).
        """
        queue = self._queues.get((topic, queue_id))
        nothing = self.outside(queue, offset)
        if nothing is not None or queue is None:
            return nothing or Found(GetStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        count = self._entries_to_scan(max_messages, choice)
        entries = queue.read(offset, count)
        low, high = queue.min_offset(self._log.start), queue.end
        if not entries:
            return Found(GetStatus.OFFSET_FOUND_NULL, self._next_file(offset), low, high)
        fetch: Fetch | None = None
        ahead: LookAhead | None = None
        if choice.records is not None:
            window = LogWindow(self._log, mapped_from)
            if choice.codes is None:
                ahead = window.ahead(choice.records, entries, queue.queue_id, (max_messages, bytes_max))
            fetch = checked(window.fetch, queue) if offset < queue.loaded else window.fetch
        try:
            chosen = choose(
                entries, offset, max_messages, choice.codes, bytes_max, self._log.start, self._log.file_bytes,
                choice.records, fetch, ahead,
            )  # fmt: skip
            parts = self._checked(queue, entries, offset, chosen, bytes_max, mapped_from, choice)
        except WaitsForDisk:
            return None
        except Unsound as damage:
            self._repair(damage.offset)
            return self.get(topic, queue_id, offset, max_messages, choice, bytes_max, mapped_from)
        except Damaged:
            if mapped_from:
                return None
            if not self._mending.mend(queue, offset, count):
                return Found(GetStatus.MESSAGE_WAS_REMOVING, offset + 1, low, high)
            return self.get(topic, queue_id, offset, max_messages, choice, bytes_max, mapped_from)
        return Found(chosen.status, chosen.following, low, high, parts, chosen.found, chosen.size_bytes)

    def _checked(
        self, queue: ConsumeQueue, entries: bytes, offset: int, chosen: Chosen, bytes_max: int,
        mapped_from: int, choice: RecordChoice,
    ) -> list[Body]:  # fmt: skip
        """What was `chosen` by `choice` of `entries`, from `offset` on.

        Raises `Damaged` and `Unsound` for what is none of `queue`, and `WaitsForDisk`.
        """
        if chosen.odd or not self._can_be(chosen, bytes_max):
            raise Damaged
        parts = self._parts(chosen.stretches, mapped_from)
        if self._is_old(queue, offset, chosen) and not fit(queue, entries, offset, chosen, parts):
            raise Damaged
        self.need_sound(queue, offset, chosen.following, chosen.stretches, parts, choice)
        return parts

    def need_sound(
        self, queue: ConsumeQueue, offset: int, following: int, stretches: Sequence[Stretch],
        parts: Sequence[Body], choice: RecordChoice,
    ) -> None:  # fmt: skip
        """Check what this process did not write, once: what `choice` left of `queue` between two offsets.

        Raises `Unsound`.
        """
        if offset < queue.loaded and not queue.checked.has(offset, following):
            need_sound(stretches, parts)
            if choice == EVERY:
                queue.checked.add(offset, following)

    def _is_old(self, queue: ConsumeQueue, offset: int, chosen: Chosen) -> bool:
        """Whether entries may have been on the disk alone since they were written."""
        if offset < queue.loaded:
            return True
        return bool(chosen.stretches) and chosen.stretches[0][0] < self.recent

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

        Raises `WaitsForDisk`.
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

    def _entries_to_scan(self, max_messages: int, choice: RecordChoice) -> int:
        if choice == EVERY:
            return max_messages
        if choice.records is not None:
            return self._scan_entries_max  # each costs what a filter costs, however many are asked for
        return max(self._scan_entries_max, max_messages)

    def _copy_now(self, start: int, size: int) -> Body | None:
        file = self._log.file_at(start)
        return None if file is None else copied(file, start, size, size)

    def _next_file(self, offset: int) -> int:
        per_file = self._queues.entries_per_file
        return offset - offset % per_file + per_file

    def get_elsewhere(
        self,
        queue: ConsumeQueue,
        offset: int,
        max_messages: int,
        choice: RecordChoice,
        bytes_max: int,
        low: int,
    ) -> Found:
        """As `get`, in a thread that does not own the store: reads files by descriptors of its own.

        Raises `Unsound` for a damaged record.
        """
        count = self._entries_to_scan(max_messages, choice)
        entries = queue.read_elsewhere(offset, count)
        if not entries:
            return Found(GetStatus.OFFSET_FOUND_NULL, self._next_file(offset), low, queue.end)
        start, file_bytes = self._log.start, self._log.file_bytes
        try:
            with self._own_files() as files:
                chosen = choose(
                    entries, offset, max_messages, choice.codes, bytes_max, start, file_bytes, choice.records,
                    checked(files.fetch, queue),
                )  # fmt: skip
                if chosen.odd or not self._can_be(chosen, bytes_max):
                    raise Damaged
                parts: list[Body] = []
                for window in windows(chosen.stretches, start, file_bytes):
                    read = read_window(window, files.fetch)
                    if read is None:
                        raise Damaged
                    parts += read
            if not fit(queue, entries, offset, chosen, parts) and offset >= queue.min_offset_known:
                raise Damaged
        except Damaged:
            if self._mending.mend(queue, offset, count):
                return self.get_elsewhere(queue, offset, max_messages, choice, bytes_max, low)
            # Nothing is wrong with the entries: their records went from the log meanwhile.
            return Found(GetStatus.MESSAGE_WAS_REMOVING, offset + 1, low, queue.end)
        self.need_sound(queue, offset, chosen.following, chosen.stretches, parts, choice)
        if len(parts) > _PARTS_JOINED_FROM:
            parts = [b"".join(parts)]  # here rather than on the loop
        return Found(chosen.status, chosen.following, low, queue.end, parts, chosen.found, chosen.size_bytes)

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
