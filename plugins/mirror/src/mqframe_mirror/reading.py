"""Reads queues by offsets: what is to be copied at the source, and the marks of copies at the target."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Final

from mqframe import AsyncPuller, MessageQueue, ReceivedMessage, decode_records
from mqframe.core.errors import MqframeError, RetryError
from mqframe_mirror.rules.marks import SOURCE_BYTES, key_of, mark_of
from mqframe_mirror.rules.progress import Placed

READ_MESSAGES: Final = 1024
"""Messages that one pull asks for where all of a queue is read; brokers give fewer, as their settings say."""


async def read(
    puller: AsyncPuller, queue: MessageQueue, begin: int, end: int
) -> AsyncIterator[ReceivedMessage]:
    """The messages of `queue` from offset `begin` to `end`, exclusive, but for those that are gone.

    Raises what a pull raises, and `RetryError` where who answers has less than all of them.
    """
    offset = begin
    while offset < end:
        found = await puller.pull_raw(queue, offset, min(end - offset, READ_MESSAGES), bulk=True)
        if found.next_offset <= offset:
            raise RetryError(f"{queue} was read to offset {offset}, and holds messages to {end}")
        for message in decoded(found.records, queue):
            if begin <= message.queue_offset < end:
                yield message
        offset = found.next_offset


def decoded(records: bytes | bytearray | memoryview, queue: MessageQueue) -> Iterator[ReceivedMessage]:
    """The messages of an answer, whose bodies are held against what their records say."""
    for message in decode_records(records, queue.broker_name):
        message.checks_crc = True
        yield message


async def placed(
    puller: AsyncPuller, queue: MessageQueue, begin: int, end: int
) -> AsyncIterator[tuple[Placed, str]]:
    """Each message of a queue of the target with its mark, and its unique key, where it is a copy."""
    async for message in read(puller, queue, begin, end):
        if message.may_have(SOURCE_BYTES):
            properties = message.properties
            yield Placed(message.queue_offset, mark_of(properties)), key_of(properties)
        else:
            yield Placed(message.queue_offset, None), ""


async def message_at(puller: AsyncPuller, queue: MessageQueue, offset: int) -> ReceivedMessage | None:
    """The message of `queue` at `offset`; `None` where there is none any more."""
    async for message in read(puller, queue, offset, offset + 1):
        return message
    return None


async def bounds(puller: AsyncPuller, queue: MessageQueue) -> tuple[int, int]:
    """The offsets between which `queue` holds messages, the second one exclusive, as its master says.

    Raises what a call raises, also while there is no master: a slave may be behind.
    """
    end = await puller.max_offset(queue)
    return min(await puller.min_offset(queue), end), end


def told(problem: MqframeError) -> str:
    """What `status` and logs say of a failure."""
    return f"{type(problem).__name__}: {problem}"
