"""Reads of queues: their entries, and the records that these list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.storage.found import Found
from mqframe.core.storage.record_filter import RecordFilter
from mqframe.core.wire.frame import Body
from mqframe.store.files.threads import Threads
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.consume_queue import ENTRY
from mqframe.store.reading.fitting import Unsound, all_fit
from mqframe.store.reading.lookup import Lookup
from mqframe.store.reading.mending import Mending
from mqframe.store.settings import StoreSettings


class QueueReads:
    """Reads what queues of one store list. `mending`, `repair`: as of `Lookup`."""

    def __init__(
        self,
        settings: StoreSettings,
        files: MessageFiles,
        threads: Threads,
        mending: Mending,
        repair: Callable[[int], object],
    ) -> None:
        self._hot_bytes = settings.hot_bytes
        self._log, self._queues, _, _ = files
        self._threads = threads
        self._mending = mending
        self._repair = repair
        self.lookup = Lookup(settings, files, mending, repair)
        self._get = self.lookup.get

    def is_cold(self, topic: str, queue_id: int, offset: int) -> bool:
        """Whether the record lies further from the end of the log than memory is likely to reach."""
        distance = self._hot_bytes
        if self._log.end - self._log.start <= distance:
            return False
        queue = self._queues.get((topic, queue_id))
        if queue is None or offset >= queue.end:
            return False
        entry = queue.entry(offset)
        return entry is not None and self._log.end - entry[0] > distance

    def get(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        *,
        codes: Collection[int] | None = None,
        records: RecordFilter | None = None,
        bytes_max: int = 256 << 10,
    ) -> Found:
        """Records of a queue from `offset` on, as they lie in the log; with `codes` only those tags codes.

        `records`: whether a record matches; no more than `scan_entries_max` entries are looked at for one
        read, so that what matches nothing holds nobody up. `bytes_max` does not hold the first record back.
        Parts are slices of the log's map, not copies; what memory does not hold is waited for.
        """
        found = self._get(topic, queue_id, offset, max_messages, RecordChoice(codes, records), bytes_max, 0)
        assert found is not None, "all is mapped"
        return found

    def get_now(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        *,
        codes: Collection[int] | None = None,
        records: RecordFilter | None = None,
        bytes_max: int = 256 << 10,
    ) -> Found | None:
        """As `get`, but `None` instead of a wait for the disk; then `get_cold` is the call to make."""
        choice = RecordChoice(codes, records)
        return self._get(topic, queue_id, offset, max_messages, choice, bytes_max, self.lookup.recent)

    def entries(self, topic: str, queue_id: int, offset: int, count: int) -> list[tuple[int, int, int]]:
        """Up to `count` queue entries from `offset` on: (log offset, record size in bytes, tags code).

        Fewer come at the end of a queue file; none where the queue holds no record at `offset`.
        """
        queue = self._queues.get((topic, queue_id))
        if queue is None or offset < queue.min_offset(self._log.start):
            return []
        raw = queue.read(offset, count)
        found = list(ENTRY.iter_unpack(raw[: len(raw) // ENTRY.size * ENTRY.size]))
        if offset < queue.loaded and not all_fit(self._log, queue, offset, found):
            self._mending.mend(queue, offset, count)
            raw = queue.read(offset, count)
            found = list(ENTRY.iter_unpack(raw[: len(raw) // ENTRY.size * ENTRY.size]))
        return found

    async def get_cold(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        *,
        codes: Collection[int] | None = None,
        records: RecordFilter | None = None,
        bytes_max: int = 256 << 10,
    ) -> Found:
        """As `get`, with all reading done in a thread."""
        queue = self._queues.get((topic, queue_id))
        nothing = self.lookup.outside(queue, offset)
        if nothing is not None or queue is None:
            return self.get(
                topic, queue_id, offset, max_messages, codes=codes, records=records, bytes_max=bytes_max
            )
        low, choice = queue.min_offset(self._log.start), RecordChoice(codes, records)
        while True:
            try:
                return await self._threads.run_and_wait(
                    lambda: self.lookup.get_elsewhere(queue, offset, max_messages, choice, bytes_max, low)
                )
            except Unsound as damage:
                self._repair(damage.offset)

    async def records_at(self, places: Sequence[tuple[int, int]]) -> list[Body | None]:
        """The records at these (log offset, size in bytes), in this order; `None` for those that are gone.

        What memory does not hold is read in a thread. Newer ones are slices of the log's map, not copies.
        """
        found = self.lookup.records(places, self.lookup.recent)
        if found is None:
            found = await self._threads.run_and_wait(lambda: self.lookup.records_elsewhere(places))
        return found
