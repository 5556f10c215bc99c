"""Follows a topic: all queues at once, without a group."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import typer

from mqframe.core.consuming.pull import MESSAGES_MAX
from mqframe.core.errors import RetryError
from mqframe.core.printable import printable
from mqframe_cli.access import access

if TYPE_CHECKING:
    from mqframe import AsyncPuller, MessageQueue
    from mqframe.core.messages.message import ReceivedMessage

Write = Callable[["ReceivedMessage"], object]
WAIT_SECONDS: Final = 15.0
"""How long brokers hold a pull until there is a message."""
RETRY_SECONDS: Final = 1.0
QUEUES_SECONDS: Final = 30.0
"""Time between two looks for new queues."""
ASKED_AT_ONCE: Final = 64
"""Queues that are asked for their offsets at the same time."""


def follow(
    topic: str,
    write: Write,
    *,
    nameserver: str = "",
    begin_ms: int | None = None,
    last: int | None = None,
    tag: str = "*",
    count: int | None = None,
) -> None:
    """Hand messages of `topic` with `tag` to `write` as they come, until Ctrl-C or `count` of them came.

    They begin with what was stored at `begin_ms` (since 1970), with the `last` newest ones, or now. While a
    broker cannot be reached it goes on trying, and says so. Raises what the first look at the topic raises.
    """
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_follow(topic, write, nameserver, begin_ms, last, tag, count))


async def _follow(
    topic: str,
    write: Write,
    nameserver: str,
    begin_ms: int | None,
    last: int | None,
    tag: str,
    count: int | None,
) -> None:
    from mqframe import AsyncPuller

    async with AsyncPuller(nameserver=nameserver, **access()) as puller:
        tail = Tail(puller, topic, tag, _counted(write, count))
        with contextlib.suppress(_Enough):
            await tail.run(begin_ms, last)


class _Enough(Exception):
    """As many messages came as were asked for."""


def _counted(write: Write, count: int | None) -> Write:
    left = count

    def counting(message: ReceivedMessage) -> None:
        nonlocal left
        write(message)
        if left is not None:
            left -= 1
            if left == 0:
                raise _Enough

    return counting


class Tail:
    """The end of a topic, queue by queue."""

    def __init__(self, puller: AsyncPuller, topic: str, tag: str, write: Write) -> None:
        self._puller = puller
        self._topic = topic
        self._tag = tag
        self._write = write
        self._asking = asyncio.Semaphore(ASKED_AT_ONCE)

    async def run(self, begin_ms: int | None, last: int | None) -> None:
        """Hand over messages for ever; raises what the writer raises."""
        queues = await self._puller.queues(self._topic)
        offsets = await asyncio.gather(*[self._begin(queue, begin_ms) for queue in queues])
        if last is not None:
            await self._write_last(queues, offsets, last)
        following = {
            queue: asyncio.ensure_future(self._queue(queue, offset))
            for queue, offset in zip(queues, offsets, strict=True)
        }
        try:
            while True:
                done, _ = await asyncio.wait(
                    following.values(), timeout=QUEUES_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                for each in done:
                    each.result()
                with contextlib.suppress(RetryError):  # the queues that are known are told of themselves
                    for queue in await self._puller.queues(self._topic):
                        if queue not in following:
                            following[queue] = asyncio.ensure_future(self._queue(queue, 0))
        finally:
            for each in following.values():
                each.cancel()
            await asyncio.gather(*following.values(), return_exceptions=True)

    async def _begin(self, queue: MessageQueue, begin_ms: int | None) -> int:
        async with self._asking:
            if begin_ms is None:
                return await self._puller.max_offset(queue)
            return await self._puller.offset_at(queue, begin_ms)

    async def _queue(self, queue: MessageQueue, offset: int) -> None:
        """Hand over what comes in one queue from `offset` on."""
        failing = False
        while True:
            try:
                result = await self._puller.pull(queue, offset, MESSAGES_MAX, self._tag, wait=WAIT_SECONDS)
            except RetryError as problem:
                if not failing:
                    typer.echo(f"mqframe: {printable(str(problem))}; trying again", err=True)
                failing = True
                await asyncio.sleep(RETRY_SECONDS)
                continue
            failing = False
            offset = result.next_offset
            for message in result.messages:
                self._write(message)

    async def _write_last(self, queues: list[MessageQueue], ends: list[int], last: int) -> None:
        """Hand over the newest `last` messages of all queues together, the oldest first."""
        found = await asyncio.gather(
            *[self._last(queue, end, last) for queue, end in zip(queues, ends, strict=True)]
        )
        newest = sorted(
            (message for messages in found for message in messages),
            key=lambda message: (message.store_timestamp, message.queue_id, message.queue_offset),
        )
        for message in newest[-last:]:
            self._write(message)

    async def _last(self, queue: MessageQueue, end: int, last: int) -> list[ReceivedMessage]:
        """The newest `last` messages of `queue` in front of `end`; looks further back where tags are rare."""
        async with self._asking:
            begin = await self._puller.min_offset(queue)
            found: list[ReceivedMessage] = []
            stop, stretch = end, max(last, MESSAGES_MAX)
            while stop > begin and len(found) < last:
                start = max(begin, stop - stretch)
                found = await self._between(queue, start, stop) + found
                stop, stretch = start, stretch * 2
            return found[-last:]

    async def _between(self, queue: MessageQueue, start: int, stop: int) -> list[ReceivedMessage]:
        found: list[ReceivedMessage] = []
        while start < stop:
            result = await self._puller.pull(queue, start, min(MESSAGES_MAX, stop - start), self._tag)
            found += [each for each in result.messages if each.queue_offset < stop]
            start = max(result.next_offset, start + 1)
        return found
