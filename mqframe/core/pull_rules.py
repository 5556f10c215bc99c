"""How the outcome of a read becomes the answer to a pull (wire.md §7; source: PullMessageProcessor.java)."""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import ResponseCode

OFFSET_RESET: Final = "OFFSET_RESET"
"""Status of a pull that is answered with an offset that an operator set."""

_CODES: Final = {
    "FOUND": ResponseCode.SUCCESS,
    "NO_MATCHED_MESSAGE": ResponseCode.PULL_RETRY_IMMEDIATELY,
    "MESSAGE_WAS_REMOVING": ResponseCode.PULL_RETRY_IMMEDIATELY,
    "OFFSET_FOUND_NULL": ResponseCode.PULL_NOT_FOUND,
    "OFFSET_OVERFLOW_ONE": ResponseCode.PULL_NOT_FOUND,
    "OFFSET_OVERFLOW_BADLY": ResponseCode.PULL_OFFSET_MOVED,
    "OFFSET_TOO_SMALL": ResponseCode.PULL_OFFSET_MOVED,
    OFFSET_RESET: ResponseCode.PULL_OFFSET_MOVED,
}
_NO_QUEUE: Final = ("NO_MATCHED_LOGIC_QUEUE", "NO_MESSAGE_IN_QUEUE")


def pull_code(status: str, requested_offset: int) -> ResponseCode:
    """The response code for a read with `status` (a name of GetMessageStatus.java) at `requested_offset`."""
    if status in _NO_QUEUE:
        return ResponseCode.PULL_OFFSET_MOVED if requested_offset else ResponseCode.PULL_NOT_FOUND
    return _CODES[status]


def pull_caps(wanted_count: int, wanted_bytes: int | None, count_max: int, bytes_max: int) -> tuple[int, int]:
    """How many messages and bytes a pull may get, of what it asks for and what the broker allows."""
    count = min(wanted_count, count_max) if wanted_count > 0 else count_max
    size = min(wanted_bytes, bytes_max) if wanted_bytes and wanted_bytes > 0 else bytes_max
    return count, size
