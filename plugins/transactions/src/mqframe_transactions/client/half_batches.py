"""Batches as half messages, and their ends: one half on a broker of this project, single halves elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

import attrs

from mqframe.client.sending.api import SendApi
from mqframe.client.sending.batches import SendBatch
from mqframe.client.sending.in_flight_limit import InFlightLimit
from mqframe.client.sending.prepared_sends import PreparedSend, UnpreparedSend, begin
from mqframe.client.settings import ProducerSettings
from mqframe.core.codes import ResponseCode, SysFlag
from mqframe.core.errors import (
    AnswerError,
    BodyError,
    FixError,
    MessageError,
    MqframeError,
    RetryError,
    answer_error,
)
from mqframe.core.messages import properties as p
from mqframe.core.messages.batch import decode_batch
from mqframe.core.messages.checks import check_message, check_properties_size
from mqframe.core.messages.message import Message, MessageQueue, SendResult, SendStatus
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX
from mqframe.core.retry.passing import is_passing
from mqframe.core.sending.retries import BOUND, ONCE, RetryRules
from mqframe.core.sending.time_limit import time_limit
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.log import get_logger
from mqframe_transactions.client.sends import end_request, half_properties, not_durable, prepared_half
from mqframe_transactions.requests import SendHalfBatch
from mqframe_transactions.rules.half_batch import (
    ELEMENTS_MAX,
    EndStatus,
    EndsUnfinished,
    PreparedHalf,
    end_status,
    status_of_failure,
)

log = get_logger("client")

IN_FLIGHT_BYTES_MAX: Final = 4 * 1024 * 1024
"""Batches that wait for their answers at once; well below what a connection takes unsent (8 MiB)."""
IN_FLIGHT_MAX: Final = 256
"""Single halves, or ends, of one call that wait for their answers at once, count."""

T = TypeVar("T")
R = TypeVar("R")


@attrs.frozen
class _Asked:
    message: Message
    count: int
    own: dict[str, str]
    timeout: float | None
    prepared: PreparedSend | UnpreparedSend
    rules: RetryRules = BOUND
    """A half that is stored twice could be delivered twice."""


class HalfBatches:
    """Prepares and ends halves of the producer group `group`.

    `running`: returns its `SendApi`, and raises `ClosedError` unless it runs. `in_flight`: limits the bytes
    that wait for their answers; more prepares wait for their turn.
    """

    def __init__(
        self, running: Callable[[], SendApi], group: str, settings: ProducerSettings, in_flight: InFlightLimit
    ) -> None:
        self._running = running
        self._group = group
        self._body_bytes_max = settings.body_bytes_max
        self._seconds = settings.send_timeout_seconds
        self._turn_seconds = settings.submit_wait_seconds
        self._in_flight = in_flight
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
        """Store the `count` messages of the batch body `elements` where no consumer sees them."""
        message = Message(topic, elements, properties=properties)
        check_message(message, self._body_bytes_max)
        own = half_properties(self._group, check_after)
        if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
            raise MessageError(f"messages to {topic} cannot go in a batch")
        if not 0 < count <= ELEMENTS_MAX:
            raise MessageError(f"count is {count}; a half holds 1 to {ELEMENTS_MAX} messages")
        with begin(self._running().pipeline.preparing, message, asked=own) as prepared:
            [message] = prepared.messages
            return await self._prepare(queue, _Asked(message, count, own, timeout, prepared))

    async def _prepare(self, queue: MessageQueue | None, asked: _Asked) -> tuple[PreparedHalf, ...]:
        pipeline = self._running().pipeline
        size = len(asked.message.body)
        route = await pipeline.route(asked.message.topic, time_limit(asked.timeout, self._seconds))
        chosen = queue or pipeline.choose(route)
        if not self._in_flight.acquire(size):
            await self._in_flight.wait(size, self._turn_seconds)
        others = {each.broker_name for each in route.write_queues()} - {chosen.broker_name}
        movable = queue is None and bool(others)
        try:
            return await self._prepare_in(chosen, attrs.evolve(asked, rules=ONCE) if movable else asked)
        except MqframeError as problem:
            # Of single halves some may be stored, and be committed by the same word as others.
            if not movable or chosen.broker_name in self._without or not is_passing(problem):
                raise
            return await self._prepare_in(pipeline.choose(route, chosen.broker_name), asked)
        finally:
            self._in_flight.release(size)

    async def end(
        self, halves: Sequence[PreparedHalf], outcome: TransactionOutcome, timeout: float | None = None
    ) -> list[EndStatus]:
        """Notify the brokers of `halves` how their transaction ended, and wait for what they say."""
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
        known = sum(status is not None and status is not EndStatus.UNCERTAIN for status in statuses)
        raise EndsUnfinished(
            f"{known} of {len(ended)} halves were ended ({outcome.name}); first problem: {failures[0]}",
            statuses,
        ) from failures[0]

    async def _end(self, half: PreparedHalf, outcome: TransactionOutcome, timeout: float | None) -> EndStatus:
        pipeline = self._running().pipeline
        queue = MessageQueue(half.topic, half.broker_name, half.queue_id)
        request = end_request(self._group, half, outcome)

        async def call(left: float) -> EndStatus:
            route = pipeline.transport.known_route(half.topic)
            if route is None:
                route = await pipeline.transport.find_route(half.topic, left)
            address = await pipeline.address(route, queue, left)
            answer = await pipeline.transport.invoke(address, request, timeout=left)
            status = end_status(answer.code, answer.remark)
            if status is None:
                raise answer_error(answer.code, answer.remark, address)
            return status

        return await pipeline.patience.over(call, time_limit(timeout, self._seconds))

    # Halves

    async def _prepare_in(self, queue: MessageQueue, asked: _Asked) -> tuple[PreparedHalf, ...]:
        if queue.broker_name not in self._without:
            try:
                return (await self._whole(queue, asked),)
            except AnswerError as refusal:
                if refusal.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                    raise
            self._without.add(queue.broker_name)
            log.info("broker knows no half batches; it gets single halves", broker=queue.broker_name)
        return await self._single(queue, asked)

    async def _whole(self, queue: MessageQueue, asked: _Asked) -> PreparedHalf:
        message, count = asked.message, asked.count
        [unique_id] = self._running().pipeline.encoder.take_ids(1)
        head = {p.UNIQUE_KEY: unique_id, p.WAIT: "true"}
        text = p.encode_properties({**head, **message.properties, **asked.own, p.HALF_BATCH: str(count)})
        batch = SendBatch((message,), [unique_id], message.body, text, SysFlag.TRANSACTION_PREPARED, True)
        batch.kind = SendHalfBatch
        sent = await self._send(batch, queue, asked)
        return await self._stored(sent, message.topic, count, True)

    async def _single(self, queue: MessageQueue, asked: _Asked) -> tuple[PreparedHalf, ...]:
        asked = attrs.evolve(asked, rules=BOUND)
        batches = self._single_halves(asked.message, asked.count)

        async def one(batch: SendBatch) -> PreparedHalf:
            sent = await self._send(batch, queue, asked)
            return await self._stored(sent, asked.message.topic, 1, False)

        done = await _windowed(batches, one)
        halves = [each for each in done if isinstance(each, PreparedHalf)]
        for problem in done:
            if isinstance(problem, MqframeError):
                await self._take_back(halves)
                raise problem
        return tuple(halves)

    def _single_halves(self, message: Message, count: int) -> list[SendBatch]:
        try:
            elements = list(decode_batch(message.body))
        except BodyError as problem:
            raise MessageError(str(problem)) from None
        if len(elements) != count:
            raise MessageError(f"count is {count}, the batch holds {len(elements)} messages")
        ids = self._running().pipeline.encoder.take_ids(count)
        own = {p.WAIT: "true", **message.properties, **half_properties(self._group)}
        batches = []
        for (flag, body, raw), new_id in zip(elements, ids, strict=True):
            try:
                properties = {p.UNIQUE_KEY: new_id, **p.decode_properties(str(raw, "utf-8")), **own}
            except UnicodeDecodeError as problem:
                raise MessageError(f"properties of a message of the batch: {problem}") from None
            text = p.encode_properties(properties)
            check_properties_size(text, message.topic)
            single = Message(message.topic, bytes(body), properties=properties, flag=flag)
            unique_id = properties[p.UNIQUE_KEY]
            batches.append(
                SendBatch((single,), [unique_id], single.body, text, SysFlag.TRANSACTION_PREPARED, False)
            )
        return batches

    async def _send(self, batch: SendBatch, queue: MessageQueue, asked: _Asked) -> SendResult:
        asked.prepared.carried_by(batch, beside_others=not batch.packed)
        message, timeout = batch.messages[0], asked.timeout
        return asked.prepared.done(
            await self._running().send(message, batch, queue, timeout=timeout, rules=asked.rules)
        )

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
    """What `work` returns for each of `items`, so many at once; after the first error no more are begun.

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
