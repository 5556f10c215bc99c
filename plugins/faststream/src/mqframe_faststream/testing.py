"""Tests of applications: a broker in memory, or a real one that records calls."""

from __future__ import annotations

import asyncio
import inspect
import time
import uuid
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, cast, overload
from unittest.mock import MagicMock

import attrs
from faststream._internal.testing.broker import EnterType, TestBroker, change_producer
from faststream.exceptions import SubscriberNotFound

from mqframe import (
    AsyncTransaction,
    FixError,
    HalfMessage,
    Message,
    MessageQueue,
    PluginManager,
    ReceivedMessage,
    RequestFailed,
    SendResult,
    SendStatus,
    Sql,
    TransactionOutcome,
    TransactionSendResult,
)
from mqframe.core.filtering.filter_expression import filter_of
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.checks import check_batch, check_message, too_long
from mqframe.core.messages.compression import UNPACKED_BYTES_MAX, Compression, compress
from mqframe.core.messages.message import BODY_BYTES_MAX
from mqframe.core.messages.properties import CLUSTER, encode_properties
from mqframe.core.sending.encoding import message_properties
from mqframe.core.sending.request_reply import request_properties
from mqframe_faststream.broker import MqframeBroker
from mqframe_faststream.consuming.groups import Groups, GroupSubscriber, owner_of
from mqframe_faststream.errors import REJECTED, ReplyTimeout
from mqframe_faststream.producer import ANSWER_SECONDS, MqframeProducer, at_once
from mqframe_faststream.publisher import MqframePublisher
from mqframe_faststream.response import MqframePublishCommand
from mqframe_faststream.subscriber import MqframeSubscriber

__all__ = ["MemoryProducer", "TestMqframeBroker"]

BROKER_NAME = "memory"
HOST = encode_host("127.0.0.1:10911")


class TestMqframeBroker(TestBroker[MqframeBroker, EnterType], broker=MqframeBroker):
    """Stands in for a broker while tests run: what is published gets to handlers at once, in this process.

        async with TestMqframeBroker(broker) as br:
            await br.publish(order, "orders", tag="paid")
            bill.mock.assert_called_once_with(...)

    Tags and SQL expressions choose; delays are not waited for; what a handler raises, `publish` raises.
    `with_real=True`: the real broker is used, and calls are recorded all the same.
    """

    @overload
    def __init__(
        self: TestMqframeBroker[MqframeBroker],
        broker: MqframeBroker,
        /,
        *,
        with_real: bool = False,
        connect_only: bool | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self: TestMqframeBroker[tuple[MqframeBroker, ...]],
        *brokers: MqframeBroker,
        with_real: bool = False,
        connect_only: bool | None = None,
    ) -> None: ...

    def __init__(
        self, *brokers: MqframeBroker, with_real: bool = False, connect_only: bool | None = None
    ) -> None:
        with warnings.catch_warnings():
            # FastStream looks for a TestApp in the sources of who calls, and warns where it has none to read.
            warnings.simplefilter("ignore", RuntimeWarning)
            super().__init__(*brokers, with_real=with_real, connect_only=connect_only)

    def create_publisher_fake_subscriber(
        self, broker: MqframeBroker, publisher: MqframePublisher
    ) -> tuple[MqframeSubscriber, bool]:
        """The subscriber that sees what `publisher` publishes, and whether the application has one."""
        for known in self.brokers:
            for subscriber in cast("list[MqframeSubscriber]", known.subscribers):
                whole = subscriber.topic == publisher.topic and not subscriber.queues
                if whole and _sees(subscriber, publisher.plan.tag):
                    return subscriber, True
        group = f"faststream-test-{uuid.uuid4().hex}"
        return broker.subscriber(publisher.topic, group=group, persistent=False), False

    @contextmanager
    def _patch_producer(self, broker: MqframeBroker) -> Iterator[None]:
        config = broker.config.broker_config
        groups = config.groups
        config.groups = _NoGroups()
        try:
            with change_producer(config, MemoryProducer(broker, self.brokers)):
                yield
        finally:
            config.groups = groups

    async def _fake_connect(self, broker: MqframeBroker, *args: Any, **kwargs: Any) -> Any:
        return MagicMock()


class MemoryProducer(MqframeProducer):
    """Hands what `broker` publishes to the subscribers of all `brokers`."""

    _waiting: ClassVar[dict[str, asyncio.Future[ReceivedMessage]]] = {}

    def __init__(self, broker: MqframeBroker, brokers: Sequence[MqframeBroker]) -> None:
        super().__init__(broker._parser, broker._decoder)
        self.serializer = broker.config.fd_config._serializer
        self.codec = broker.config.broker_codec or self.codec
        self._listener = broker._options.listener
        self._brokers = brokers
        self._stored = 0

    async def publish(self, cmd: MqframePublishCommand) -> SendResult | None:
        """Call handlers with the message. Raises `MessageError`, and what they raise."""
        message = await self.message(cmd)
        if cmd.request is not None:
            return self._reply(cmd.request, message)
        sent = await self._deliver([message], cmd.plan.queue)
        return None if cmd.oneway else sent

    async def publish_batch(self, cmd: MqframePublishCommand) -> SendResult:
        """Call handlers with the messages, those of batches with all at once."""
        at_once(cmd.plan, "a batch")
        messages = await self.messages(cmd)
        check_batch(messages, BODY_BYTES_MAX)
        return await self._deliver(messages, cmd.plan.queue)

    async def request(self, cmd: MqframePublishCommand) -> ReceivedMessage:
        """The reply of the first handler. Raises `SubscriberNotFound` where there is none."""
        at_once(cmd.plan, "a request")
        message = await self.message(cmd)
        seconds = ANSWER_SECONDS if cmd.timeout is None else cmd.timeout
        correlation_id = uuid.uuid4().hex
        own = request_properties(correlation_id, BROKER_NAME, seconds)
        more = own + encode_properties({CLUSTER: BROKER_NAME})
        raw = self._received(message, cmd.plan.queue, more)
        reply = self._waiting[correlation_id] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                for subscriber in self._subscribers(message.topic, cmd.plan.queue):
                    if _wants(subscriber, raw):
                        called = (raw,) if subscriber.subscription.batch else raw
                        with subscriber.delivering(called) as delivery:
                            await subscriber.process_message(called)
                        if delivery.is_refused:
                            raise RequestFailed(f"request {correlation_id} failed: {REJECTED}")
                        answer: ReceivedMessage = await reply
                        return answer
        except TimeoutError:
            raise ReplyTimeout(f"no reply came from topic {message.topic} within {seconds:g} s") from None
        finally:
            del self._waiting[correlation_id]
        raise SubscriberNotFound(f"topic {message.topic} has no subscriber that wants the request")

    async def begin(self, cmd: MqframePublishCommand, check_after: float | None) -> AsyncTransaction:
        """A transaction whose message handlers get when it is committed."""
        at_once(cmd.plan, "a transaction")
        transaction = AsyncTransaction(
            cast("Any", _HeldBack(self)), await self.message(cmd), cast("Any", None)
        )
        return await transaction.__aenter__()

    async def run(
        self, cmd: MqframePublishCommand, argument: Any, check_after: float | None
    ) -> TransactionSendResult:
        """Have the listener do its transaction; handlers get the message if it says so."""
        at_once(cmd.plan, "a transaction")
        if self._listener is None:
            raise FixError("publish_in_transaction needs a transaction_listener; pass one to MqframeBroker")
        message = await self.message(cmd)
        half = half_of(message)
        error: Exception | None = None
        try:
            outcome: Any = self._listener.execute_local_transaction(half, argument)
            if inspect.isawaitable(outcome):
                outcome = await outcome
        except Exception as problem:  # the listener is the application's: nobody knows how it ended
            outcome, error = TransactionOutcome.UNKNOWN, problem
        queue = MessageQueue(message.topic, BROKER_NAME, 0)
        if outcome is TransactionOutcome.COMMIT:
            await self._deliver([message])
        return TransactionSendResult(
            SendStatus.SEND_OK,
            half.transaction_id,
            queue,
            self._stored,
            transaction_id=half.transaction_id,
            outcome=outcome,
            error=error,
        )

    async def deliver(self, message: Message) -> None:
        """Call handlers with a message that was held back."""
        await self._deliver([message])

    async def _deliver(self, messages: Sequence[Message], queue: MessageQueue | None = None) -> SendResult:
        raws = [self._received(message, queue) for message in messages]
        topic = messages[0].topic
        for subscriber in self._subscribers(topic, queue):
            wanted = [raw for raw in raws if _wants(subscriber, raw)]
            wish = subscriber.subscription
            if wish.batch:
                for at in range(0, len(wanted), wish.max_records):
                    await subscriber.process_message(tuple(wanted[at : at + wish.max_records]))
            else:
                for raw in wanted:
                    await subscriber.process_message(raw)
        ids = ",".join(raw.message_id for raw in raws)
        return SendResult(SendStatus.SEND_OK, ids, raws[0].queue, raws[0].queue_offset)

    def _received(
        self, message: Message, queue: MessageQueue | None = None, more: str = ""
    ) -> ReceivedMessage:
        _check(message)
        unique_id = uuid.uuid4().hex.upper()
        properties = (message_properties(message, unique_id) + more).encode()
        now, offset = time.time_ns() // 1_000_000, self._stored
        self._stored += 1
        return _stored_message(message, queue, offset, now, properties)

    def _reply(self, request: ReceivedMessage, message: Message) -> SendResult:
        raw = self._received(Message("reply", message.body, message.tag, message.keys, message.properties))
        waiter = self._waiting.get(request.properties["CORRELATION_ID"])
        if waiter is not None and not waiter.done():
            waiter.set_result(raw)
        return SendResult(SendStatus.SEND_OK, raw.message_id, raw.queue, raw.queue_offset)

    def _subscribers(self, topic: str, queue: MessageQueue | None = None) -> list[MqframeSubscriber]:
        """Who gets what is sent to `topic`, to `queue` of it where that is said."""
        all_of_them = [each for broker in self._brokers for each in broker.subscribers]
        everybody = cast("list[MqframeSubscriber]", all_of_them)
        named = [each for each in everybody if each.pattern is None and each.takes(topic)]
        by_group: dict[str, list[MqframeSubscriber]] = {}
        for each in everybody:
            if each.pattern is not None and each.group not in {other.group for other in named}:
                by_group.setdefault(each.group, []).append(each)
        meaning = [owner_of(topic, members) for members in by_group.values()]
        takers = [*named, *[each for each in meaning if each is not None]]
        return [each for each in takers if queue is None or not each.queues or queue in each.queues]


def _check(message: Message) -> None:
    """Raise `MessageError` for what a producer with its default settings would refuse."""
    check_message(message, UNPACKED_BYTES_MAX)
    if len(message.body) > BODY_BYTES_MAX:
        packed, _ = compress(message.body, Compression.ZLIB)
        if len(packed) > BODY_BYTES_MAX:
            raise too_long(message, BODY_BYTES_MAX, len(packed))


@attrs.frozen
class _Half:
    half: HalfMessage
    sent: SendResult
    stored_ok: bool = True


class _HeldBack:
    """Stands where a producer's transactions would."""

    def __init__(self, producer: MemoryProducer) -> None:
        self._producer = producer

    async def begin(self, message: Message, where: object) -> _Half:
        _check(message)
        half = half_of(message)
        queue = MessageQueue(message.topic, BROKER_NAME, 0)
        return _Half(half, SendResult(SendStatus.SEND_OK, half.transaction_id, queue, 0))

    async def end(self, begun: _Half, outcome: TransactionOutcome) -> None:
        if outcome is TransactionOutcome.COMMIT:
            half = begun.half
            await self._producer.deliver(Message(half.topic, half.body, half.tag, half.keys, half.properties))


class _NoGroups(Groups):
    """No consumers: handlers are called by whoever publishes."""

    def __init__(self) -> None:
        super().__init__(cast("Any", None), None)

    async def join(self, member: GroupSubscriber) -> None:
        """Nothing to join."""

    async def leave(self, member: GroupSubscriber) -> None:
        """Nothing to leave."""

    def leave_later(self, member: GroupSubscriber) -> None:
        """Nothing to leave."""


def half_of(message: Message) -> HalfMessage:
    """`message`, with the name of a transaction of its own."""
    fields = {name: getattr(message, name) for name in Message.__struct_fields__}
    return HalfMessage(**fields, transaction_id=uuid.uuid4().hex.upper())


def _stored_message(
    message: Message, queue: MessageQueue | None, offset: int, now_ms: int, properties: bytes
) -> ReceivedMessage:
    return ReceivedMessage(
        message.topic,
        0 if queue is None else queue.queue_id,
        offset,
        offset,
        len(message.body) + len(properties),
        now_ms,
        now_ms,
        HOST,
        HOST,
        0,
        0,
        message.flag,
        zlib.crc32(message.body),
        0,
        message.body,
        properties,
        BROKER_NAME if queue is None else queue.broker_name,
    )


def _sees(subscriber: MqframeSubscriber, tag: str | None) -> bool:
    """Whether messages with `tag` get to `subscriber`, as far as tags tell."""
    expression = subscriber.subscription.expression
    if isinstance(expression, Sql):
        return False
    found = filter_of(expression)
    return expression == "*" or tag in getattr(found, "tags", ())


def _wants(subscriber: MqframeSubscriber, message: ReceivedMessage) -> bool:
    expression = subscriber.subscription.expression
    if isinstance(expression, Sql):
        return bool(
            PluginManager().create("message_filter", "SQL92").compile(expression.text)(message.properties)
        )
    return bool(filter_of(expression).choose([message]))
