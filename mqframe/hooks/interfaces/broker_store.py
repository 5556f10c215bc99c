"""What a broker's store is to services that work with records: its log, its queues, and who waits for what.

Most services read and write messages (`MessageReader`, `MessageWriter`) and need nothing of this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from mqframe.core.storage.found import Found
from mqframe.core.storage.outcome import Outcome
from mqframe.core.storage.record_filter import RecordFilter
from mqframe.core.wire.frame import Body


class StoredLog(Protocol):
    """Where the log begins and ends; offsets are in bytes."""

    @property
    def min_offset(self) -> int:
        """Oldest log offset that is kept."""

    @property
    def max_offset(self) -> int:
        """Where the next record goes."""

    @property
    def lasting_offset(self) -> int:
        """First log offset that is not known to last: on disk, and confirmed by copies that count.

        A table that says what was done speaks of nothing behind it.
        """


class StoredQueues(Protocol):
    """Where queues begin and end; offsets count messages."""

    def min_offset(self, topic: str, queue_id: int) -> int:
        """First offset whose record is still kept; 0 for an unknown queue."""

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Offset behind the last message that consumers may see; 0 for an unknown queue."""

    def bounds(self, topic: str, queue_id: int) -> tuple[int, int]:
        """`min_offset` and `max_offset`."""

    def store_time_at(self, topic: str, queue_id: int, offset: int) -> int | None:
        """Store time (ms since 1970) of the record at `offset`; `None` when there is none."""


class StoredReads(Protocol):
    """Reads what queues list, as records (store.md §2): slices of the log, to be used in the same turn."""

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
        """Records from `offset` on; `codes`: of these tags only, `records`: whether one matches.

        `bytes_max` does not hold the first record back. What memory does not hold is waited for.
        """

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

    def is_cold(self, topic: str, queue_id: int, offset: int) -> bool:
        """Whether the record lies further from the end of the log than memory is likely to reach."""

    def entries(self, topic: str, queue_id: int, offset: int, count: int) -> list[tuple[int, int, int]]:
        """Up to `count` queue entries from `offset` on: (log offset, record size in bytes, tags code)."""

    async def records_at(self, places: Sequence[tuple[int, int]]) -> list[Body | None]:
        """The records at these (log offset, size in bytes), in this order; `None` for those that are gone."""


class StoredRecords(Protocol):
    """Finds records by log offset."""

    def record_at(self, commit_log_offset: int, *, unconfirmed: bool = False) -> bytes | None:
        """The record that starts at this log offset; `None` when none does.

        `unconfirmed`: also one that consumers may not see yet.
        """


class StoreConfirming(Protocol):
    """Tells those who wait for a log offset when it is as durable as is configured."""

    @property
    def confirms_at_once(self) -> bool:
        """Whether all that is stored is confirmed at once, so that nobody needs to wait."""

    def when_confirmed(self, end_offset: int, callback: Callable[[bool], object]) -> None:
        """Call `callback` when everything before `end_offset` is confirmed: at once where it is already.

        It gets False when the disk, or copies that count, took too long.
        """

    def when_decided(self, end_offset: int, callback: Callable[[Outcome], object]) -> None:
        """As `when_confirmed`; `callback` gets CONFIRMED, or why it is not."""

    async def until_confirmed(self, end_offset: int) -> bool:
        """Wait as `when_confirmed` does; whether it is confirmed. May be cancelled."""

    async def until_decided(self, end_offset: int) -> Outcome:
        """Wait as `when_decided` does; what that tells. May be cancelled."""

    async def flush_log(self) -> bool:
        """Bring everything appended so far to disk; False when that fails. It takes as long as the disk."""


class StoreDispatch(Protocol):
    """Has queues list what is stored."""

    def now(self) -> None:
        """Bring queues up to what is confirmed; whoever follows arrivals is told. Else the next turn does."""


class StoreTrust(Protocol):
    """Knows whether the disk may be trusted."""

    def distrust(self, what: str, problem: OSError) -> None:
        """`what`, a file made from the log, could not be synced: the next start checks, and writes it."""


class StoreRecovery(Protocol):
    """What the start found."""

    @property
    def last_commits(self) -> Sequence[int]:
        """Log offsets of the committed transactional messages that the log ends with."""


class BrokerStore(Protocol):
    """The store of a broker, as services see it."""

    @property
    def log(self) -> StoredLog:
        """Where the log begins and ends."""

    @property
    def queues(self) -> StoredQueues:
        """Where queues begin and end."""

    @property
    def reads(self) -> StoredReads:
        """Reads what queues list."""

    @property
    def search(self) -> StoredRecords:
        """Finds records by log offset."""

    @property
    def confirming(self) -> StoreConfirming:
        """Tells those who wait."""

    @property
    def dispatch(self) -> StoreDispatch:
        """Has queues list what is stored."""

    @property
    def disk(self) -> StoreTrust:
        """Knows whether the disk may be trusted."""

    @property
    def recovered(self) -> StoreRecovery:
        """What the start found."""
