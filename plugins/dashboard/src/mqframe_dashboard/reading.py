"""Messages of one queue in order, a few at a time: nobody is asked for more than a page needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe_dashboard.asking import Asking

AT_ONCE: Final = 32
"""What brokers give to one pull at most, unless told otherwise."""
BYTES_MAX: Final = 16 << 20
"""What is read of one queue for one page, stored bytes; the message that reaches it is the last."""


async def messages_of(
    asking: Asking, queue: MessageQueue, at: int, end: int, at_once: int = AT_ONCE
) -> AsyncIterator[ReceivedMessage]:
    """Messages of `queue` from offset `at` on, before `end`. Raises as `Asking.ask`."""
    size = 0
    while at < end and size < BYTES_MAX:
        result = await asking.ask(asking.puller.pull, queue, at, min(at_once, end - at))
        for message in result.messages:
            if message.queue_offset >= end or size >= BYTES_MAX:
                return
            size += message.store_size
            yield message
        at = max(result.next_offset, at + 1)
