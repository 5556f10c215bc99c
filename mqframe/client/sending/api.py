"""Sends whose answer is awaited, and one-way sends: checks, limits and the choice of retry rules.

Shared by both APIs; the sync one drives these coroutines without a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final

from mqframe.client.sending.batches import SendBatch
from mqframe.client.sending.in_flight_limit import InFlightLimit
from mqframe.client.sending.pipeline import SendPipeline
from mqframe.client.sending.prepared_sends import NOTHING_ASKED, begin
from mqframe.client.sending.producer_parts import ProducerParts
from mqframe.client.sending.result_futures import Item, LaterItem
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.delay.options import asks_for_time
from mqframe.core.delay.recall_handle import decode_recall_handle
from mqframe.core.errors import MessageError
from mqframe.core.messages.checks import (
    check_batch,
    check_message,
    check_properties_size,
    check_sendable_topic,
)
from mqframe.core.messages.message import Message, MessageQueue, SendResult, with_properties
from mqframe.core.messages.properties import decode_properties
from mqframe.core.requests.messages import RecallMessage
from mqframe.core.requests.refusals import refusal
from mqframe.core.sending.encoding import element_size
from mqframe.core.sending.retries import RetryRules
from mqframe.core.sending.time_limit import time_limit

_UNPREPARED: Final = nullcontext()


class SendApi:
    """What one running producer can send. `in_flight`: limits what waits for its answer."""

    __slots__ = (
        "_body_bytes_max", "_in_flight", "_monotonic", "_parts", "_seconds", "pipeline", "plain_bytes_max",
    )  # fmt: skip

    def __init__(self, parts: ProducerParts, pipeline: SendPipeline, in_flight: InFlightLimit) -> None:
        self.pipeline = pipeline
        self._parts = parts
        self._in_flight = in_flight
        self._seconds = parts.settings.send_timeout_seconds
        self._body_bytes_max = parts.settings.body_bytes_max
        self.plain_bytes_max = parts.settings.plain_bytes_max
        self._monotonic = pipeline.clock.monotonic

    def close(self) -> None:
        """Fail those who wait for room."""
        self._in_flight.close()

    async def route(self, topic: str) -> TopicRoute:
        """The route of `topic`, with queues to write. Raises `RouteError`."""
        return await self.pipeline.route(topic, self._seconds)

    async def one(
        self,
        message: Message,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
    ) -> SendResult:
        """Send one message."""
        check_message(message, self.plain_bytes_max)
        if self.pipeline.preparing is not None:
            return await self._prepared(message, "", queue, selector, sharding_key, timeout)
        return await self.send(message, None, queue, selector, sharding_key, timeout)

    async def delayed(
        self,
        message: Message,
        extra: str,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
    ) -> SendResult:
        """Send one message for later delivery; `extra`: the properties that ask for it, in text form."""
        check_message(message, self.plain_bytes_max)
        if self.pipeline.preparing is not None:
            return await self._prepared(message, extra, queue, selector, sharding_key, timeout)
        batch = self._with_properties(message, extra)
        return await self.send(message, batch, queue, selector, sharding_key, timeout)

    async def _prepared(
        self,
        message: Message,
        extra: str,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
    ) -> SendResult:
        asked = decode_properties(extra)
        with begin(self.pipeline.preparing, message, asked=asked, sharding_key=sharding_key) as prepared:
            [message] = prepared.messages
            batch = prepared.carried_by(self._with_properties(message, extra))
            return prepared.done(await self.send(message, batch, queue, selector, sharding_key, timeout))

    async def recall(self, topic: str, handle: str, timeout: float | None) -> str:
        """Take back the waiting message that `handle` names; returns its unique key."""
        seconds = time_limit(timeout, self._seconds)
        deadline = self._monotonic() + seconds
        try:
            broker_name = decode_recall_handle(handle).broker_name
        except (ValueError, AttributeError):
            raise MessageError(
                f"{handle!r} is no recall handle; it is the `recall_handle` that the send gave"
            ) from None
        pipeline = self.pipeline
        request = RecallMessage(topic, handle, pipeline.group)

        async def call(left: float) -> str:
            route = await pipeline.route(topic, left)
            address = await pipeline.address(route, MessageQueue(topic, broker_name, 0), left)
            answer = await pipeline.transport.invoke(address, request, timeout=deadline - self._monotonic())
            if answer.code:
                raise refusal(request, answer, address)
            return (answer.ext or {}).get("msgId", "")

        return await pipeline.patience.over(call, seconds)

    def _with_properties(self, message: Message, extra: str) -> SendBatch:
        batch = self.pipeline.encoder.one(message)
        if extra:
            batch.properties += extra
            batch.timed = asks_for_time(extra)
            # Hooks see what is asked of the broker.
            batch.messages = (with_properties(message, decode_properties(extra)),)
            check_properties_size(batch.properties, message.topic)
        return batch

    async def batch(
        self,
        messages: Sequence[Message],
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
    ) -> SendResult:
        """Send several messages in one request."""
        messages = tuple(messages)
        check_batch(messages, self._body_bytes_max)
        preparing = self.pipeline.preparing
        if preparing is None:
            batch = self.pipeline.encoder.batch(messages)
            return await self.send(messages[0], batch, queue, selector, sharding_key, timeout)
        with preparing.begin(messages, "sync", batch=True, sharding_key=sharding_key) as prepared:
            batch = prepared.carried_by(self.pipeline.encoder.batch(prepared.messages))
            first = prepared.messages[0]
            return prepared.done(await self.send(first, batch, queue, selector, sharding_key, timeout))

    async def encoded(
        self, topic: str, elements: bytes, queue: MessageQueue | None, timeout: float | None
    ) -> SendResult:
        """Send messages that are encoded already, so that hooks cannot prepare them."""
        check_sendable_topic(topic)
        batch = self.pipeline.encoder.encoded(topic, elements, looked_at=self.pipeline.hooked)
        return await self.send(batch.messages[0], batch, queue, timeout=timeout)

    async def oneway(
        self,
        message: Message,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
        extra: str = "",
    ) -> None:
        """Send one message without an answer; `extra` as for `delayed`."""
        check_message(message, self.plain_bytes_max)
        prepared = None
        if self.pipeline.preparing is not None:
            asked = decode_properties(extra)
            prepared = self.pipeline.preparing.begin(
                (message,), "oneway", asked=asked, sharding_key=sharding_key
            )
            [message] = prepared.messages
        with prepared or _UNPREPARED:
            seconds = time_limit(timeout, self._seconds)
            deadline = self._monotonic() + seconds
            pipeline = self.pipeline
            route = await pipeline.route(message.topic, seconds)
            fixed = self._parts.fixed_queue(route, message, queue, selector, sharding_key)
            batch = self._with_properties(message, extra)
            if prepared is not None:
                prepared.carried_by(batch)
            await pipeline.oneway(batch, route, fixed or pipeline.choose(route), deadline)

    def usual(self, message: Message, room: InFlightLimit, new: Callable[[], Any]) -> Item | None:
        """As `submitted`, for a message with nothing more to it; `None` where that would wait."""
        pipeline = self.pipeline
        check_message(message, self.plain_bytes_max)
        route = pipeline.transport.known_route(message.topic)
        if pipeline.preparing is not None or route is None or not route.write_queues():
            return None
        size = element_size(message)
        return Item(message, new(), size, None) if room.acquire(len(message.body)) else None

    async def submitted(
        self,
        message: Message,
        extra: str,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        room: InFlightLimit,
        new: Callable[[], Any],
    ) -> Item:
        """One message for a `Submitter`: it has `room`, `new` makes its future; `extra` as for `delayed`."""
        check_message(message, self.plain_bytes_max)
        pipeline, prepared, asked = self.pipeline, None, decode_properties(extra) if extra else NOTHING_ASKED
        if pipeline.preparing is not None:
            prepared = pipeline.preparing.begin((message,), "async", asked=asked, sharding_key=sharding_key)
            message = prepared.messages[0]
        try:
            if asked:
                message = with_properties(message, asked)
            size = element_size(message)
            route = pipeline.transport.known_route(message.topic)
            if route is None or not route.write_queues():
                route = await self.route(message.topic)
            fixed = None
            if queue is not None or sharding_key is not None or selector is not None:
                fixed = self._parts.fixed_queue(route, message, queue, selector, sharding_key)
            body_bytes = len(message.body)
            if not room.acquire(body_bytes):
                await room.wait(body_bytes, self._parts.settings.submit_wait_seconds)
        except BaseException as problem:  # re-raised: hooks hear that it was not sent
            if prepared is not None:
                prepared.failed(problem)
            raise
        operation = None if prepared is None else prepared.operation
        if asked:
            return LaterItem(message, new(), size, fixed, operation, asks_for_time(extra))
        return Item(message, new(), size, fixed, operation)

    async def send(
        self,
        message: Message,
        batch: SendBatch | None,
        queue: MessageQueue | None,
        selector: object = None,
        sharding_key: object = None,
        timeout: float | None = None,
        rules: RetryRules | None = None,
    ) -> SendResult:
        """Send `batch`, whose first message is `message`, or that one alone; both were checked.

        `rules`: when to try again, by default as for any message.
        """
        seconds = time_limit(timeout, self._seconds)
        deadline = self._monotonic() + seconds
        size = len(message.body if batch is None else batch.body)
        if not self._in_flight.acquire(size):
            await self._in_flight.wait(size, seconds)
        try:
            pipeline = self.pipeline
            route = pipeline.transport.known_route(message.topic)
            if route is None or not route.write_queues():
                route = await pipeline.route(message.topic, seconds)
            fixed = None
            if queue is not None or sharding_key is not None or selector is not None:
                fixed = self._parts.fixed_queue(route, message, queue, selector, sharding_key)
            if rules is None:
                rules = self._parts.rules(fixed)
            if batch is None:
                batch = pipeline.encoder.one(message)
            return await pipeline.deliver(batch, rules, route, deadline, fixed=fixed)
        finally:
            self._in_flight.release(size)
