"""What a read of a queue finds."""

from __future__ import annotations

from enum import Enum

import msgspec

from mqframe.core.wire.frame import Body


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
