"""Batches as half messages, and their ends: one half on a broker of this project, single halves elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

from mqframe.client.load import Load
from mqframe.client.room import Room
from mqframe.client.sends import Sends
from mqframe.client.settings import ProducerSettings
from mqframe.client.transaction_sends import end_request, half_properties, not_durable, prepared_half
from mqframe.core import properties as p
from mqframe.core.batch import decode_batch
from mqframe.core.codes import ResponseCode, SysFlag
from mqframe.core.errors import (
    AnswerError,
    BodyError,
    ConnectError,
    FixError,
    MessageError,
    MqframeError,
    RetryError,
    answer_error,
)
from mqframe.core.half_batch import (
    ELEMENTS_MAX,
    EndStatus,
    EndsUnfinished,
    PreparedHalf,
    end_status,
    status_of_failure,
)
from mqframe.core.message import Message, MessageQueue, SendResult, SendStatus
from mqframe.core.message_checks import check_message, check_properties_size
from mqframe.core.requests.messages import SendHalfBatch
from mqframe.core.send_rules import FLOW_CONTROL_CODES, RetryRules
from mqframe.core.topics import DLQ_PREFIX, RETRY_PREFIX
from mqframe.core.transaction_outcome import TransactionOutcome
from mqframe.log import get_logger

log = get_logger("client")

IN_FLIGHT_BYTES_MAX: Final = 4 * 1024 * 1024
"""Batches that wait for their answers at once; well below what a connection takes unsent (8 MiB)."""
IN_FLIGHT_MAX: Final = 256
"""Single halves, or ends, of one call that wait for their answers at once, count."""
_RULES: Final = RetryRules(2, FLOW_CONTROL_CODES)
"""Only where nothing was stored: a half that is stored twice could be delivered twice."""

T = TypeVar("T")
R = TypeVar("R")


class HalfBatches:
    """Prepares and ends halves of the producer group `group`.

    `running`: gives the producer's sends, and raises `ClosedError` unless it runs. `room`: limits the bytes
    that wait for their answers; more prepares wait for their turn.
    """

    def __init__(
        self, running: Callable[[], Sends], group: str, settings: ProducerSettings, room: Room
    ) -> None:
        self._running = running
        self._group = group
        self._body_bytes_max = settings.body_bytes_max
        self._seconds = settings.send_timeout_seconds
        self._turn_seconds = settings.submit_wait_seconds
        self._room = room
        self._without: set[str] = set()

    async def prepare(
        self,
        topic: str,
        elements: bytes,
        count: int,
        properties: Mapping[str, str],
        queue: MessageQueue | None,
        timeout: float | None = None,
        check_after: float | None = None,
    ) -> tuple[PreparedHalf, ...]:
        """Store the `count` messages in `elements` (mqframe.core.batch) where no consumer sees them."""
        message = Message(topic, elements, properties=properties)
        check_message(message, self._body_bytes_max)
        own = half_properties(self._group, check_after)
        if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
            raise MessageError(f"messages to {topic} cannot go in a batch")
        if not 0 < count <= ELEMENTS_MAX:
            raise MessageError(f"count is {count}; a half holds 1 to {ELEMENTS_MAX} messages")
        sender = self._running().sender
        route = await sender.route(topic, self._seconds if timeout is None else timeout)
        chosen = queue or sender.choose(route)
        if not self._room.take(len(elements)):
            await self._room.wait(len(elements), self._turn_seconds)
        try:
            return await self._prepare_in(chosen, message, count, own, timeout)
        except ConnectError:
            other = sender.choose(route, chosen.broker_name)
            if queue is not None or other.broker_name == chosen.broker_name:
                raise
            if chosen.broker_name in self._without:
                raise  # some of its single halves may be stored, and be committed by the same word as others
            return await self._prepare_in(other, message, count, own, timeout)
        finally:
            self._room.give(len(elements))

    async def end(
        self, halves: Sequence[PreparedHalf], outcome: TransactionOutcome, timeout: float | None = None
    ) -> list[EndStatus]:
        """Tell the brokers of `halves` how their transaction ended, and wait for what they say."""
        if outcome is TransactionOutcome.UNKNOWN:
            raise FixError("outcome is UNKNOWN; a half ends with COMMIT or ROLLBACK, or it stays as it is")

        async def one(half: PreparedHalf) -> EndStatus:
            return await self._end(half, outcome, timeout)

        ended = await _windowed(halves, one)
        failures = [each for each in ended if isinstance(each, MqframeError)]
        if not failures:
            return [each for each in ended if isinstance(each, EndStatus)]
        for failure in failures:
            if not isinstance(failure, RetryError):
                raise failure
        statuses = [status_of_failure(each) if isinstance(each, MqframeError) else each for each in ended]
        told = sum(status is not None and status is not EndStatus.UNCERTAIN for status in statuses)
        raise EndsUnfinished(
            f"{told} of {len(ended)} halves were ended ({outcome.name}); first problem: {failures[0]}",
            statuses,
        ) from failures[0]

    async def _end(self, half: PreparedHalf, outcome: TransactionOutcome, timeout: float | None) -> EndStatus:
        seconds = self._seconds if timeout is None else timeout
        sender = self._running().sender
        queue = MessageQueue(half.topic, half.broker_name, half.queue_id)
        route = sender.port.known_route(half.topic) or await sender.port.find_route(half.topic, seconds)
        address = await sender.address(route, queue, seconds)
        request = end_request(self._group, half, outcome)
        answer = await sender.port.invoke(address, request, timeout=seconds)
        status = end_status(answer.code, answer.remark)
        if status is None:
            raise answer_error(answer.code, answer.remark, address)
        return status

    # Halves

    async def _prepare_in(
        self,
        queue: MessageQueue,
        message: Message,
        count: int,
        own: dict[str, str],
        timeout: float | None,
    ) -> tuple[PreparedHalf, ...]:
        if queue.broker_name not in self._without:
            try:
                return (await self._whole(queue, message, count, own, timeout),)
            except AnswerError as refusal:
                if refusal.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                    raise
            self._without.add(queue.broker_name)
            log.info("broker knows no half batches; it gets single halves", broker=queue.broker_name)
        return await self._single(queue, message, count, timeout)

    async def _whole(
        self,
        queue: MessageQueue,
        message: Message,
        count: int,
        own: dict[str, str],
        timeout: float | None,
    ) -> PreparedHalf:
        [unique_id] = self._running().sender.loader.take_ids(1)
        head = {p.UNIQUE_KEY: unique_id, p.WAIT: "true"}
        text = p.encode_properties({**head, **message.properties, **own, p.HALF_BATCH: str(count)})
        load = Load((message,), [unique_id], message.body, text, SysFlag.TRANSACTION_PREPARED, True)
        load.kind = SendHalfBatch
        sent = await self._send(load, queue, timeout)
        return await self._stored(sent, message.topic, count, True)

    async def _single(
        self, queue: MessageQueue, message: Message, count: int, timeout: float | None
    ) -> tuple[PreparedHalf, ...]:
        loads = self._loads(message, count)

        async def one(load: Load) -> PreparedHalf:
            return await self._stored(await self._send(load, queue, timeout), message.topic, 1, False)

        done = await _windowed(loads, one)
        halves = [each for each in done if isinstance(each, PreparedHalf)]
        for problem in done:
            if isinstance(problem, MqframeError):
                await self._take_back(halves)
                raise problem
        return tuple(halves)

    def _loads(self, message: Message, count: int) -> list[Load]:
        try:
            elements = list(decode_batch(message.body))
        except BodyError as problem:
            raise MessageError(str(problem)) from None
        if len(elements) != count:
            raise MessageError(f"count is {count}, the batch holds {len(elements)} messages")
        ids = self._running().sender.loader.take_ids(count)
        own = {p.WAIT: "true", **message.properties, **half_properties(self._group)}
        loads = []
        for (flag, body, raw), new_id in zip(elements, ids, strict=True):
            try:
                properties = {p.UNIQUE_KEY: new_id, **p.decode_properties(str(raw, "utf-8")), **own}
            except UnicodeDecodeError as problem:
                raise MessageError(f"properties of a message of the batch: {problem}") from None
            text = p.encode_properties(properties)
            check_properties_size(text, message.topic)
            single = Message(message.topic, bytes(body), properties=properties, flag=flag)
            unique_id = properties[p.UNIQUE_KEY]
            loads.append(Load((single,), [unique_id], single.body, text, SysFlag.TRANSACTION_PREPARED, False))
        return loads

    async def _send(self, load: Load, queue: MessageQueue, timeout: float | None) -> SendResult:
        return await self._running().once(load, queue, None, None, timeout, _RULES)

    async def _stored(self, sent: SendResult, topic: str, count: int, repeatable: bool) -> PreparedHalf:
        half = prepared_half(sent, topic, count, repeatable=repeatable)
        if sent.status is not SendStatus.SEND_OK:
            await self._take_back([half])
            raise not_durable(sent)
        return half

    async def _take_back(self, halves: Sequence[PreparedHalf]) -> None:
        if not halves:
            return
        try:
            await self.end(halves, TransactionOutcome.ROLLBACK)
        except MqframeError as problem:
            log.warning("halves were not rolled back; their broker will ask", reason=str(problem))


async def _windowed(
    items: Sequence[T], work: Callable[[T], Awaitable[R]], width: int = IN_FLIGHT_MAX
) -> list[R | MqframeError | None]:
    """What `work` gives for each of `items`, so many at once; after the first error no more are begun.

    In the place of an item that failed is its error, of one that was not begun `None`.
    """
    results: list[R | MqframeError | None] = [None] * len(items)
    waiting = iter(enumerate(items))
    failed = False

    async def worker() -> None:
        nonlocal failed
        for index, item in waiting:
            try:
                results[index] = await work(item)
            except MqframeError as problem:
                results[index] = problem
                failed = True
            if failed:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(min(width, len(items))):
            group.create_task(worker())
    return results
