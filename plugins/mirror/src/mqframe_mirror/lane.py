"""The copying of one queue: one request after the other, so that order is kept and nothing is doubled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from mqframe import MessageQueue, PullStatus, ReceivedMessage
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import (
    AnswerError,
    BodyUnreadable,
    FixError,
    GiveUpError,
    MessageError,
    MqframeError,
    RetryError,
)
from mqframe.core.retry.backoff import backoff_seconds
from mqframe.log import get_logger
from mqframe_mirror.copies import Copy, batches, copy_of
from mqframe_mirror.link import MirrorLink, TargetQueue
from mqframe_mirror.reading import bounds, decoded, placed, told
from mqframe_mirror.rules.marks import PATH, may_pass
from mqframe_mirror.tally import LaneTally

log = get_logger("mirror")

POLL_SECONDS: Final = 10.0
"""How long a broker may wait for the next message of a queue."""
HELD_SECONDS: Final = 10.0
"""Before what does not pass by itself is tried again."""
_PATH: Final = PATH.encode()


class MirrorLane:
    """Copies `queue` of the source, from `position` on, to `place`.

    `resume`: gives the position anew when the queue is another one than it was. `position`: all before it is
    at the target, or is not to be there.
    """

    def __init__(
        self,
        link: MirrorLink,
        queue: MessageQueue,
        place: TargetQueue,
        position: int,
        resume: Callable[[MessageQueue], Awaitable[int]],
    ) -> None:
        self.queue = queue
        self.place = place
        self.tally = LaneTally(position=position)
        self._link = link
        self._resume = resume
        self._idle = False
        self._doubt: int | None = None
        self._held: tuple[int, MqframeError] | None = None
        self.failure: MqframeError | None = None
        """What holds the queue up; `None` when nothing does."""
        self._sending = self._stopping = False
        self._task: asyncio.Task[None] | None = None

    @property
    def position(self) -> int:
        """The offset of the next message to copy."""
        return self.tally.position

    @property
    def is_idle(self) -> bool:
        """Whether the queue had no more to copy when it was looked at last."""
        return self._idle and self.failure is None

    def start(self) -> None:
        """Begin to copy."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Copy no more; a request that is under way is waited for."""
        self._stopping = True
        task, self._task = self._task, None
        if task is None:
            return
        if not self._sending:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    def kill(self) -> None:
        """Copy no more, as if the process had ended."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        failures = 0
        while not self._stopping:
            try:
                await self._step()
                failures, self.failure, self.tally.problem = 0, None, ""
            except MqframeError as problem:
                failures += 1
                await self._failed(problem, failures)
            except Exception as problem:  # isolation boundary: a fault here holds up one queue, and is told
                log.exception("queue failed", queue=self.queue, position=self.position)
                failures += 1
                await self._failed(GiveUpError(repr(problem)), failures)

    async def _failed(self, problem: MqframeError, failures: int) -> None:
        """Note what holds the queue up, and wait before it is tried again."""
        self.failure, text = problem, told(problem)
        if text != self.tally.problem:
            log.warning("queue waits", queue=self.queue, position=self.position, problem=text)
        self.tally.problem = text
        passes = isinstance(problem, RetryError)
        if not self._stopping:
            pause = backoff_seconds(failures, self._link.randomness) if passes else HELD_SECONDS
            await self._link.clock.sleep(pause)

    async def _step(self) -> None:
        if self._doubt is not None:
            await self._settle(self._doubt)
        if self._idle:
            await self._wait()
        if not self._idle:
            async with self._link.gate(self.place.queue.broker_name):
                await self._copy()

    async def _wait(self) -> None:
        """Until there is something to copy, or some seconds are over; one message is held at most."""
        found = await self._link.source.puller.pull(self.queue, self.position, 1, wait=POLL_SECONDS)
        self._idle = found.status is PullStatus.NO_NEW_MSG
        if self._idle:
            self.tally.end, self.tally.waiting_since_ms = found.max_offset, 0

    async def _copy(self) -> None:
        messages, behind = await self._gather()
        if messages:
            self.tally.waiting_since_ms = messages[0].store_timestamp
            self._held = None
            for batch in batches(self._copies(messages), *self._limits):
                await self._deliver(batch)
                if self._stopping:
                    return
            if self._held is not None:
                self.tally.position, problem = self._held
                raise problem
        self.tally.position = behind
        if self._idle:
            self.tally.waiting_since_ms = 0

    @property
    def _limits(self) -> tuple[int, int]:
        return self._link.settings.batch_messages, self._link.settings.batch_bytes

    async def _gather(self) -> tuple[list[ReceivedMessage], int]:
        """What fills a batch, as far as it is there, and the offset behind it."""
        messages: list[ReceivedMessage] = []
        offset, size = self.position, 0
        count_max, bytes_max = self._limits
        while len(messages) < count_max and size < bytes_max:
            left = count_max - len(messages)
            found = await self._link.source.puller.pull_raw(self.queue, offset, left, bulk=True)
            if found.status is PullStatus.OFFSET_ILLEGAL:
                if not messages:
                    await self._displaced()
                    return [], self.position
                break
            self.tally.end = found.max_offset
            got = [each for each in decoded(found.records, self.queue) if each.queue_offset >= offset]
            messages += got
            size += sum(each.store_size for each in got)
            self._idle = found.next_offset >= found.max_offset
            if found.next_offset <= offset and not self._idle and not messages:
                raise RetryError(f"{self.queue} cannot be read at offset {offset} at the moment")
            offset = max(offset, found.next_offset)
            if self._idle:
                break
        return messages, offset

    def _copies(self, messages: Sequence[ReceivedMessage]) -> Iterator[Copy]:
        """The copies of `messages`, without those that have been at the target; ends where one cannot be."""
        source, target = self._link.source.name, self._link.target.name
        for message in messages:
            if message.may_have(_PATH) and not may_pass(message.properties, target):
                self.tally.looped += 1
                continue
            try:
                yield copy_of(message, source, self.place.queue.topic)
            except (MessageError, BodyUnreadable) as problem:
                if not self._skips(message.queue_offset, problem):
                    self._held = message.queue_offset, self._held_up(message.queue_offset, problem)
                    return

    async def _deliver(self, batch: Sequence[Copy]) -> None:
        """Send `batch`; what the target refuses is looked for by halves."""
        try:
            await self._send(batch)
        except (AnswerError, MessageError) as problem:
            refused = isinstance(problem, MessageError) or problem.code == ResponseCode.MESSAGE_ILLEGAL
            if not refused or self._doubt is not None:
                raise
            if len(batch) > 1:
                middle = len(batch) // 2
                await self._deliver(batch[:middle])
                await self._deliver(batch[middle:])
            elif not self._skips(batch[0].offset, problem):
                raise self._held_up(batch[0].offset, problem) from problem
            else:
                self.tally.position = batch[0].offset + 1

    def _skips(self, offset: int, problem: MqframeError) -> bool:
        """Whether a message that the target does not take is left out; then it is counted."""
        if self._link.settings.refused != "skip":
            return False
        self.tally.refused += 1
        log.error("message was left out", queue=self.queue, offset=offset, problem=told(problem))
        return True

    def _held_up(self, offset: int, problem: MqframeError) -> FixError:
        return FixError(
            f"the target does not take the message at offset {offset} of {self.queue}: {problem}; mend that,"
            ' or leave such messages out by refused = "skip"'
        )

    async def _send(self, batch: Sequence[Copy]) -> None:
        producer, topic = self._link.target.producer, self.place.queue.topic
        queue, seconds = self.place.queue, self._link.settings.send_seconds
        self.place.sending(self.queue)
        self._doubt, self._sending = batch[0].offset, True
        try:
            if batch[0].single is not None:
                result = await producer.send(batch[0].single, queue=queue, timeout=seconds)
            else:
                elements = b"".join(copy.element for copy in batch)
                result = await producer.send_encoded(topic, elements, queue=queue, timeout=seconds)
        except MqframeError as problem:
            if not problem.maybe_stored:
                self._doubt = None
                self.place.sent(self.queue)
            raise
        finally:
            self._sending = False
        self._doubt = None
        counted = 0 if result.batch_places is not None else len(batch)
        self.place.sent(self.queue, result.queue_offset + counted)
        self.tally.position = batch[-1].offset + 1
        self.tally.copied += len(batch)
        self.tally.copied_bytes += sum(copy.size for copy in batch)

    async def _settle(self, doubt: int) -> None:
        """Look at the target whether a request arrived whose answer did not; `doubt`: its first offset."""
        await self._link.clock.sleep(self._link.settings.settle_seconds)
        puller, cluster = self._link.target.puller, self._link.source.name
        lane = self.queue.broker_name, self.queue.queue_id
        begin, end = await bounds(puller, self.place.queue)
        begin = max(begin, self.place.floor_of(self.queue))
        last = doubt - 1
        async for each, _ in placed(puller, self.place.queue, begin, end):
            if each.mark is not None and each.mark.cluster == cluster and each.mark.lane == lane:
                last = max(last, each.mark.offset)
        self.tally.settled += 1
        self.tally.copied += 0 if last < doubt else last + 1 - doubt
        self.tally.position = max(self.tally.position, last + 1)
        self._doubt = None
        self.place.sent(self.queue, end)

    async def _displaced(self) -> None:
        """The position is not in the queue: messages expired before their time, or it is a new queue."""
        begin, end = await bounds(self._link.source.puller, self.queue)
        if self.position < begin:
            gone = begin - self.position
            log.error("messages were gone before they were copied", queue=self.queue, messages=gone)
            self.tally.missed += gone
            self.tally.position = begin
        elif self.position > end:
            at = await self._resume(self.queue)
            log.warning("queue has another end than before", queue=self.queue, end=end, going_on_at=at)
            self.tally.position = at
        else:
            raise RetryError(f"who answers for {self.queue} does not hold offset {self.position} yet")
