"""What operators are told of one queue that a consumer holds."""

from __future__ import annotations

from typing import Final

from mqframe.core.consumer_info import ProcessQueueInfo
from mqframe.core.process_queue import ProcessQueue
from mqframe.net.clock import LoopClock

NO_OFFSET: Final = -1
_MEBIBYTE: Final = 1 << 20


def queue_info(held: ProcessQueue | None, committed: int | None, clock: LoopClock) -> ProcessQueueInfo:
    """`held`: what is held of it, `None` when it has just gone; `committed`: `None` when not known.

    Source: ProcessQueue.fillProcessQueueInfo.
    """
    offset = NO_OFFSET if committed is None else committed
    if held is None:
        return ProcessQueueInfo(commit_offset=offset, dropped=True)
    return ProcessQueueInfo(
        cached_msg_count=held.message_count,
        cached_msg_max_offset=held.lowest + held.span if held.lowest is not None else 0,
        cached_msg_min_offset=held.lowest or 0,
        cached_msg_size_in_mib=held.byte_count // _MEBIBYTE,
        commit_offset=offset,
        dropped=held.dropped,
        last_consume_timestamp=_wall_ms(clock, held.last_consume),
        last_pull_timestamp=_wall_ms(clock, held.last_pull),
    )


def _wall_ms(clock: LoopClock, monotonic: float) -> int:
    return clock.now_ms() - int((clock.monotonic() - monotonic) * 1000)
