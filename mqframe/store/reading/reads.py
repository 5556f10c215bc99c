"""Reads of a store: where queues begin and end, messages by offset, time and key."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from mqframe.core.storage.record_filter import RecordFilter
from mqframe.core.wire.frame import Body
from mqframe.store.incoming import Found
from mqframe.store.queues.consume_queue import ENTRY
from mqframe.store.reading.fitting import Unsound, all_fit
from mqframe.store.reading.search import Search


class StoreReads(Search):
    """Reads of one store."""

    is_copy = False
    """Whether the log is that of another broker."""

    # Where things are

    @property
    def confirmed_offset(self) -> int:
        """First log offset that consumers may not see yet, bytes."""
        return self.confirmed()

    @property
    def min_offset(self) -> int:
        """Oldest log offset that is kept, bytes."""
        return self._log.start

    @property
    def max_offset(self) -> int:
        """Where the next record goes, bytes."""
        return self._log.end

    @property
    def flushed_offset(self) -> int:
        """First log offset that is not known to be on disk, bytes."""
        return self._log.flushed

    @property
    def lasting_offset(self) -> int:
        """First log offset, bytes, that is not known to last: on disk, and confirmed by copies that count.

        Tables that say what was done speak of nothing behind it, for they may be read, or copied, alone.
        """
        return min(self._log.flushed, self.confirmed())

    def log_bytes(self, offset: int, size: int) -> memoryview | None:
        """`size` bytes of the log from `offset` on, within one file; `None` where it has not (any more) all.

        A slice of the map, to be used at once.
        """
        return self._log.slice(offset, size)

    @property
    def damaged_entries(self) -> int:
        """Queue entries that reads found damaged and entered again from the log, since the start."""
        return self._mending.mended

    @property
    def lost_entries(self) -> int:
        """Those of `damaged_entries` that the log holds no record for."""
        return self._mending.lost

    def queues(self) -> Iterable[tuple[str, int]]:
        """(topic, queue id) of every queue that ever held a message and was not deleted."""
        return [queue.key for queue in self._queues]

    def queue_min(self, topic: str, queue_id: int) -> int:
        """First offset of the queue whose record is still kept; 0 for an unknown queue."""
        queue = self._queues.get((topic, queue_id))
        return 0 if queue is None else queue.min_offset(self._log.start)

    def queue_max(self, topic: str, queue_id: int) -> int:
        """Offset behind the last message that consumers may see; 0 for an unknown queue."""
        queue = self._queues.get((topic, queue_id))
        return 0 if queue is None else queue.end

    def queue_next(self, topic: str, queue_id: int) -> int:
        """Offset that the next message gets; those before it are stored, if not all to be seen yet."""
        queue = self._queues.get((topic, queue_id))
        return 0 if queue is None else queue.next_offset

    # Reading

    def get(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        *,
        codes: Container[int] | None = None,
        records: RecordFilter | None = None,
        bytes_max: int = 256 << 10,
    ) -> Found:
        """Records of a queue from `offset` on, as they lie in the log; with `codes` only those tags codes.

        `records`: whether a record matches; no more than `scan_entries_max` entries are looked at for one
        read, so that what matches nothing holds nobody up. `bytes_max` does not hold the first record back.
        Parts are slices of the log's map, not copies; what memory does not hold is waited for.
        """
        found = self._get(topic, queue_id, offset, max_messages, codes, bytes_max, 0, records)
        assert found is not None, "all is mapped"
        return found

    def get_now(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        *,
        codes: Container[int] | None = None,
        records: RecordFilter | None = None,
        bytes_max: int = 256 << 10,
    ) -> Found | None:
        """As `get`, but `None` instead of a wait for the disk; then `get_cold` is the call to make."""
        mapped_from = self._log.end - self.settings.mapped_read_bytes
        return self._get(topic, queue_id, offset, max_messages, codes, bytes_max, mapped_from, records)

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
        codes: Container[int] | None = None,
        records: RecordFilter | None = None,
        bytes_max: int = 256 << 10,
    ) -> Found:
        """As `get`, with all reading done in a thread."""
        queue = self._queues.get((topic, queue_id))
        nothing = self._outside(queue, offset)
        if nothing is not None or queue is None:
            return self.get(
                topic, queue_id, offset, max_messages, codes=codes, records=records, bytes_max=bytes_max
            )
        low = queue.min_offset(self._log.start)
        while True:
            try:
                return await self._threads.run_and_wait(
                    lambda: self._get_elsewhere(queue, offset, max_messages, codes, bytes_max, low, records)
                )
            except Unsound as damage:
                self._repair(damage.offset)

    async def records_at(self, places: Sequence[tuple[int, int]]) -> list[Body | None]:
        """The records at these (log offset, size in bytes), in this order; `None` for those that are gone.

        What memory does not hold is read in a thread. Newer ones are slices of the log's map, not copies.
        """
        mapped_from = self._log.end - self.settings.mapped_read_bytes
        found = self._records(places, mapped_from)
        if found is None:
            found = await self._threads.run_and_wait(lambda: self._records_elsewhere(places))
        return found
