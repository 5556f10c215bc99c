"""How the files that a process may have open are divided, so that connections leave the store some.

`files_max`: how many the process may have, RLIMIT_NOFILE; negative: there is no limit. Three eighths go to
the connections of each of two servers, one to files of queues, and one is left for whatever else is open.
"""

from __future__ import annotations

from typing import Final

QUEUE_FILES_MIN: Final = 8


def connections_that_fit(wanted: int, files_max: int) -> int:
    """How many of `wanted` connections one server may have."""
    return wanted if files_max < 0 else min(wanted, max(1, files_max * 3 // 8))


def queue_files_that_fit(wanted: int, files_max: int) -> int:
    """How many of `wanted` files of queues may be held open."""
    return wanted if files_max < 0 else min(wanted, max(QUEUE_FILES_MIN, files_max // 8))
