"""What is handed to the store and what it says."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

import msgspec

from mqframe.core.frame import Body


class Incoming(msgspec.Struct, gc=False):
    """One message to store; for a batch what all its messages share (body and properties are left empty).

    `properties`: complete text form; hosts: packed (`mqframe.core.host`); times: ms; `wait_store_ok`: whether
    its sender waits for the disk where that is configured.
    """

    topic: str
    queue_id: int
    body: Body
    properties: str
    born_timestamp: int
    born_host: bytes
    store_host: bytes
    flag: int = 0
    sys_flag: int = 0
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    wait_store_ok: bool = True


class Stored(NamedTuple):
    """Where a message lies: offsets and `size` in bytes, `queue_offset` in records, time in ms."""

    commit_log_offset: int
    queue_offset: int
    size: int
    store_timestamp: int

    @property
    def end_offset(self) -> int:
        """The commit-log offset that must be confirmed before consumers see the message."""
        return self.commit_log_offset + self.size


class StoredBatch(NamedTuple):
    """Where a batch lies: `offsets`, `end_offset` in log bytes; `queue_offset` of the first."""

    offsets: list[int]
    queue_offset: int
    end_offset: int
    store_timestamp: int


class GetStatus(Enum):
    """What a read of a queue found (names as in GetMessageStatus.java; they go over the wire as remark)."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"


class Found(msgspec.Struct, frozen=True):
    """A read of a queue: `parts` are stretches of whole records, in order; offsets in records.

    `next_offset`: where the reader goes on; `count` and `size_bytes`: of the records in `parts`.
    """

    status: GetStatus
    next_offset: int
    min_offset: int
    max_offset: int
    parts: list[Body] = []
    count: int = 0
    size_bytes: int = 0


class QueryFound(NamedTuple):
    """Records with a key, newest first; how far the index reaches (ms, bytes)."""

    records: list[bytes]
    last_timestamp: int
    last_offset: int


ENTRY_BYTES: Final = 20
"""Size of a consume-queue entry."""
