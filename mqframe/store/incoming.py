"""Messages handed to the store, and the results of its reads."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

import msgspec

from mqframe.core.wire.frame import Body


class Incoming(msgspec.Struct, gc=False):
    """One message to store; for a batch what all its messages share (body and properties are left empty).

    `properties`: complete text form; hosts: packed (`core.wire.addresses`); times: ms.
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
