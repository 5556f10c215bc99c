"""Follows a topic: all queues at once, without a group."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import attrs
import typer

from mqframe.core.consuming.pull import MESSAGES_MAX
from mqframe.core.errors import FixError, RetryError, SettingError
from mqframe.core.printable import printable
from mqframe_cli.access import access
from mqframe_cli.live.choice import Chooses, everything

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


@attrs.frozen(kw_only=True)
class TopicPart:
    """What of a topic is shown, from where to where.

    It begins with what was stored at `begin_ms` (since 1970), at `offset` of each queue (a negative one
    counts from its end), with the `last` newest messages, or now; at the start where it has an end. That is
    where the queues end now (`until_end`), or what was stored at `until_ms`; without one it goes on for ever.
    `tag`: as subscriptions have it; `queues`: "broker:id" or "id", none means all; `chooses`: which messages
    count; `count`: most of them.
    """

    topic: str
    begin_ms: int | None = None
    offset: int | None = None
    last: int | None = None
    until_end: bool = False
    until_ms: int | None = None
    tag: str = "*"
    queues: Sequence[str] = ()
    chooses: Chooses = everything
    count: int | None = None

    @property
    def ends(self) -> bool:
        """Whether it has an end."""
        return self.until_end or self.until_ms is not None

    def takes(self, message: ReceivedMessage) -> bool:
        """Whether `message`, from between its bounds, is one of those that are meant."""
        return (self.until_ms is None or message.store_timestamp <= self.until_ms) and self.chooses(message)


def follow(part: TopicPart, write: Write, *, nameserver: str = "") -> None:
    """Hand the messages of `part` to `write` as they come, until its end or Ctrl-C.

    While a broker cannot be reached it goes on trying, and says so. Raises what the first look at the topic
    raises, and `SettingError` for queues that are not there.
    """
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_follow(part, write, nameserver))


async def _follow(part: TopicPart, write: Write, nameserver: str) -> None:
    from mqframe import AsyncPuller

    async with AsyncPuller(nameserver=nameserver, **access()) as puller:
        tail = Tail(puller, part, _counted(write, part.count))
        with contextlib.suppress(_Enough):
            await tail.run()


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
    """A part of a topic, queue by queue."""

    def __init__(self, puller: AsyncPuller, part: TopicPart, write: Write) -> None:
        self._puller = puller
        self._part = part
        self._write = write
        self._asking = asyncio.Semaphore(ASKED_AT_ONCE)

    async def run(self) -> None:
        """Hand over messages, for ever where there is no end; raises what the writer raises."""
        part = self._part
        queues = await self._queues()
        bounds = dict(
            zip(queues, await asyncio.gather(*[self._bounds(queue) for queue in queues]), strict=True)
        )
        if part.last is not None:
            await self._write_last(bounds, part.last)
            if part.ends:
                return
        following = {
            queue: asyncio.ensure_future(self._queue(queue, begin, end if part.ends else None))
            for queue, (begin, end) in bounds.items()
        }
        try:
            while running := _running(following.values()):
                await asyncio.wait(running, timeout=QUEUES_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if part.ends:
                    continue
                with contextlib.suppress(RetryError):  # the queues that are known are told of themselves
                    for queue in await self._queues():
                        if queue not in following:
                            following[queue] = asyncio.ensure_future(self._queue(queue, 0, None))
        finally:
            for each in following.values():
                each.cancel()
            await asyncio.gather(*following.values(), return_exceptions=True)

    async def _queues(self) -> list[MessageQueue]:
        """The queues that are meant. Raises `SettingError` for a name of none, `FixError` where none is."""
        found = await self._puller.queues(self._part.topic)
        if not found:
            raise FixError(f"topic {self._part.topic} has no queue that may be read")
        return chosen_queues(found, self._part.queues)

    async def _bounds(self, queue: MessageQueue) -> tuple[int, int]:
        """Where to begin, and where the queue ends; with `last` it begins at its end."""
        part, ask = self._part, self._puller
        async with self._asking:
            end = await ask.max_offset(queue)
            if part.until_ms is not None:
                # One more: brokers differ in whether it is the last before that time or the first after.
                end = min(end, await ask.offset_at(queue, part.until_ms) + 1)
            if part.begin_ms is not None:
                return await ask.offset_at(queue, part.begin_ms), end
            if part.offset is not None:
                wanted = part.offset if part.offset >= 0 else end + part.offset
                return max(wanted, await ask.min_offset(queue)), end
            if part.ends and part.last is None:
                return await ask.min_offset(queue), end
            return end, end

    async def _queue(self, queue: MessageQueue, offset: int, end: int | None) -> None:
        """Hand over what comes in one queue from `offset` on, up to `end`."""
        failing = False
        while end is None or offset < end:
            try:
                result = await self._puller.pull(
                    queue, offset, MESSAGES_MAX, self._part.tag, wait=WAIT_SECONDS
                )
            except RetryError as problem:
                if not failing:
                    typer.echo(f"mqframe: {printable(str(problem))}; trying again", err=True)
                failing = True
                await asyncio.sleep(RETRY_SECONDS)
                continue
            failing = False
            offset = result.next_offset
            for message in result.messages:
                if (end is None or message.queue_offset < end) and self._part.takes(message):
                    self._write(message)

    async def _write_last(self, bounds: Mapping[MessageQueue, tuple[int, int]], last: int) -> None:
        """Hand over the newest `last` messages of all queues together, the oldest first."""
        found = await asyncio.gather(*[self._last(queue, end, last) for queue, (_, end) in bounds.items()])
        newest = sorted(
            (message for messages in found for message in messages),
            key=lambda message: (message.store_timestamp, message.queue_id, message.queue_offset),
        )
        for message in newest[-last:]:
            self._write(message)

    async def _last(self, queue: MessageQueue, end: int, last: int) -> list[ReceivedMessage]:
        """The newest `last` messages of `queue` in front of `end`; looks further back where few are meant."""
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
            result = await self._puller.pull(queue, start, min(MESSAGES_MAX, stop - start), self._part.tag)
            found += [each for each in result.messages if each.queue_offset < stop and self._part.takes(each)]
            start = max(result.next_offset, start + 1)
        return found


def _running(tasks: Iterable[asyncio.Task[None]]) -> list[asyncio.Task[None]]:
    """Those that go on; raises what one that has ended raised."""
    running = []
    for each in tasks:
        if each.done():
            each.result()
        else:
            running.append(each)
    return running


def chosen_queues(queues: Sequence[MessageQueue], names: Sequence[str]) -> list[MessageQueue]:
    """Those of `queues` that `names` mean: "broker:id", or "id" of each broker. Raises `SettingError`."""
    if not names:
        return list(queues)
    chosen: dict[MessageQueue, None] = {}
    for name in names:
        broker, colon, number = name.rpartition(":")
        if not (number.isascii() and number.isdecimal()) or (colon and not broker):
            raise SettingError(f"--queue {name}: write BROKER:ID, for example broker-a:0, or ID")
        found = [each for each in queues if str(each.queue_id) == number and broker in ("", each.broker_name)]
        if not found:
            there = ", ".join(f"{each.broker_name}:{each.queue_id}" for each in queues)
            raise SettingError(
                f"--queue {name}: topic {queues[0].topic} has no such queue; there are {there}"
            )
        chosen |= dict.fromkeys(found)
    return [each for each in queues if each in chosen]
