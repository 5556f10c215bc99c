"""Subscribers: what FastStream does with what a consumer hands over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from faststream._internal.endpoint.publisher import PublisherProto
from faststream._internal.endpoint.subscriber import SubscriberUsecase
from faststream._internal.endpoint.utils import process_msg
from faststream.exceptions import FeatureNotSupportedException, IgnoredException
from faststream.message import StreamMessage
from faststream.middlewares import AckPolicy
from faststream.response import Response
from mqframe_steering.rules.patterns import TopicPattern, topic_pattern

from mqframe import (
    AsyncSimpleConsumer,
    ConsumeResult,
    DecodeError,
    ListenerContext,
    MessageQueue,
    PoppedMessage,
    ReceivedMessage,
)
from mqframe.core.messages.log_fields import log_fields
from mqframe.core.sending.request_reply import is_request
from mqframe_faststream.config import MqframeBrokerConfig, group_of, groups_of, topic_of
from mqframe_faststream.consuming.options import SubscriberPlan, check_policy
from mqframe_faststream.errors import REJECTED, OptionError, RequestRejected, is_of_arguments, undecodable
from mqframe_faststream.message import Delivery, MqframeMessage, PoppedSettlement, RawMessage
from mqframe_faststream.parser import MqframeParser, reply_address
from mqframe_faststream.publisher import ReplyPublisher

if TYPE_CHECKING:
    from faststream._internal.endpoint.subscriber.call_item import CallsCollection

    from mqframe_faststream.config import MqframeSubscriberConfig
    from mqframe_faststream.producer import MqframeProducer
    from mqframe_faststream.specification import MqframeSubscriberSpecification

INVISIBLE_SECONDS = 30.0
"""How long nobody else gets what `get_one` returned and nobody acknowledged."""
ASK_SECONDS = 60.0
"""How long an `async for` asks at once; it goes on asking."""


class MqframeSubscriber(SubscriberUsecase[Any]):
    """A subscriber of a topic, of queues, or of topics by a pattern.

    Made by `MqframeBroker.subscriber`, which says what the options mean.
    """

    _outer_config: MqframeBrokerConfig

    def __init__(
        self,
        config: MqframeSubscriberConfig,
        specification: MqframeSubscriberSpecification,
        calls: CallsCollection[Any],
    ) -> None:
        self.subscription: SubscriberPlan = config.subscription
        self._deliveries: dict[int, Delivery] = {}
        parser = MqframeParser(self._deliveries, self._path)
        config.parser = parser.parse_batch if self.subscription.batch else parser.parse_message
        config.decoder = parser.decode_batch if self.subscription.batch else parser.decode_message
        super().__init__(config, cast("Any", specification), calls)
        check_policy(self.subscription, config._ack_policy)
        self._limit: asyncio.Semaphore | None = None
        self._at_work: set[asyncio.Task[Any]] = set()
        self._waits = self.ack_policy is AckPolicy.MANUAL
        self._popper: AsyncSimpleConsumer | None = None
        self._asked: asyncio.Task[list[PoppedMessage]] | None = None

    @property
    def topic(self) -> str:
        """The topic or the text of the pattern, with the prefixes of its routers."""
        return topic_of(self.subscription.name, self._outer_config)

    @property
    def pattern(self) -> TopicPattern | None:
        """Which topics are meant, if it is not one that is named."""
        return topic_pattern(self.topic) if self.subscription.pattern else None

    @property
    def queues(self) -> dict[MessageQueue, int | None]:
        """The queues that are read, each with the offset where it is to begin; none where groups share."""
        named = self.subscription.queues or {}
        return {queue._replace(topic=self.topic): offset for queue, offset in named.items()}

    def takes(self, topic: str) -> bool:
        """Whether messages of `topic` are for it."""
        pattern = self.pattern
        return topic == self.topic if pattern is None else pattern.match(topic) is not None

    @property
    def group(self) -> str:
        """The consumer group."""
        return group_of(self.subscription, self._outer_config)

    def __call__(self, func: Any = None, **options: Any) -> Any:
        """As of FastStream. Raises `OptionError` for what wraps handlers of mqframe's own consumers."""
        if kind := getattr(func, "__mqframe_wraps__", ""):
            raise OptionError(
                f"subscriber of {self.subscription.name!r}: {func.__qualname__} is wrapped by a {kind} of"
                " mqframe's own consumers, which FastStream cannot call; take `message: MqframeMessage` and"
                " write `async with once.processing(message.raw_message) as work:` in the handler"
            )
        if func is None:
            return lambda later: self(later, **options)
        return super().__call__(func, **options)

    # Running

    async def start(self) -> None:
        """Join the group. Raises `OptionError` when it does not go with the others of it, `RouteError`."""
        self.subscription = self.subscription.beginning(self._outer_config.consume_from)
        await super().start()
        # From here on messages may come.
        self._post_start()
        try:
            if self.calls:
                await groups_of(self._outer_config).join(self)
            elif self._popped_from is not None:
                await self._popping()
        except BaseException:
            self.running = False
            raise

    async def stop(self) -> None:
        """Leave: call handlers no more, wait for those that run."""
        for delivery in list(self._deliveries.values()):
            delivery.give_up()
        groups = getattr(self._outer_config, "groups", None)
        if groups is not None and self.calls:
            if asyncio.current_task() in self._at_work:
                self.running = False
                groups.leave_later(self)
            else:
                await groups.leave(self)
        asked, self._asked = self._asked, None
        if asked is not None:
            asked.cancel()
            await asyncio.wait({asked})
        popper, self._popper = self._popper, None
        if popper is not None:
            await popper.stop()
        await super().stop()

    def share_tasks(self) -> None:
        """The group has other subscribers: mind the own number of workers."""
        if self._limit is None:
            self._limit = asyncio.Semaphore(self.subscription.max_workers)

    async def listen(self, messages: Sequence[ReceivedMessage], context: ListenerContext) -> ConsumeResult:
        """Have handlers called with `messages`, and answer what became of them.

        Raises `BodyUnreadable` for what can never be read, and `DecodeError` for a body that is not what the
        handler takes: as for other consumers, that becomes a dead letter which says why, unless
        `on_decode_error` of the group's settings is another.
        """
        if self._limit is None:
            return await self._handle(messages, context)
        async with self._limit:
            return await self._handle(messages, context)

    async def process_message(self, msg: Any) -> Response:
        """As of FastStream, whose `consume` drops errors: those that say what a body is not are kept."""
        try:
            return await super().process_message(msg)
        except DecodeError as problem:
            self._cannot_be_taken(msg, problem)
            raise
        except IgnoredException:
            raise  # a handler's word on the message is no failure
        except Exception as problem:  # re-raised: serializers have errors of their own
            if is_of_arguments(problem):
                self._cannot_be_taken(msg, undecodable(msg[0] if isinstance(msg, tuple) else msg, problem))
            elif any(map(is_request, msg if isinstance(msg, tuple) else (msg,))):
                self._failed(msg, problem)
            raise

    @contextmanager
    def delivering(self, raw: RawMessage) -> Iterator[Delivery]:
        """While `raw` is processed: where it is decided what becomes of it."""
        delivery = self._deliveries[id(raw)] = Delivery()
        try:
            yield delivery
        finally:
            del self._deliveries[id(raw)]

    def _failed(self, msg: RawMessage, problem: Exception) -> None:
        delivery = self._deliveries.get(id(msg))
        if delivery is not None:
            delivery.failure = problem

    def _cannot_be_taken(self, msg: RawMessage, problem: DecodeError) -> None:
        delivery = self._deliveries.get(id(msg))
        if delivery is not None:
            delivery.problem = problem

    async def _handle(self, messages: Sequence[ReceivedMessage], context: ListenerContext) -> ConsumeResult:
        raw: RawMessage = tuple(messages) if self.subscription.batch else messages[0]
        task = asyncio.current_task()
        assert task is not None
        self._at_work.add(task)
        try:
            with self.delivering(raw) as delivery:
                done = await self.consume(raw)
                if self._waits and delivery.verdict is None and done is not None and self.running:
                    await delivery.decided()
        finally:
            self._at_work.discard(task)
        if delivery.problem is not None and delivery.verdict is not ConsumeResult.SUCCESS:
            raise delivery.problem
        context.delay_level_when_next_consume = delivery.delay_level
        if delivery.failure is not None and delivery.verdict is not ConsumeResult.SUCCESS:
            raise delivery.failure  # the consumer tells who waits for the reply
        told = delivery.failure or delivery.problem
        if told is None and delivery.is_refused:
            told = RequestRejected(REJECTED)
        if told is not None:
            await self.tell(messages, told)
        return delivery.verdict or ConsumeResult.RECONSUME_LATER

    async def tell(self, messages: Sequence[ReceivedMessage], problem: Exception) -> None:
        """Tell who waits for replies to those of `messages` that are requests that there will be none."""
        answers = groups_of(self._outer_config).connection.options.consumer.answers_requests
        if answers and not self.subscription.broadcasting:
            await cast("MqframeProducer", self._outer_config.producer).fail(messages, problem)

    def _path(self, topic: str) -> dict[str, Any]:
        pattern = self.pattern
        return {} if pattern is None else dict(pattern.match(topic) or {})

    # Asking for messages

    async def get_one(self, *, timeout: float = 5.0) -> MqframeMessage | None:
        """The next message, or `None` when none came within `timeout` seconds.

        Unless the policy is ACK_FIRST it comes again after 30 s, or to whoever asks then, if nobody calls
        `ack`. Only for subscribers without handlers. Raises as `AsyncSimpleConsumer.receive`.
        """
        popper = await self._popping()
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        while True:
            # One that was asked for and came too late goes to who asks next.
            asked = self._asked = self._asked or asyncio.ensure_future(popper.receive(1, INVISIBLE_SECONDS))
            await asyncio.wait({asked}, timeout=max(0.0, until - loop.time()))
            if not asked.done():
                return None
            self._asked = None
            if found := asked.result():
                return await self._popped(popper, found[0])

    async def __aiter__(self) -> AsyncIterator[MqframeMessage]:
        """Messages as they come, as by `get_one`."""
        while True:
            message = await self.get_one(timeout=ASK_SECONDS)
            if message is not None:
                yield message

    @property
    def _popped_from(self) -> str | None:
        """Where the group begins, if its messages can be asked for one by one."""
        wanted, begin = self.subscription, self.subscription.consume_from
        whole = not (wanted.broadcasting or wanted.pattern or wanted.queues)
        return begin if isinstance(begin, str) and whole else None

    async def _popping(self) -> AsyncSimpleConsumer:
        assert not self.calls, "You can't use `get_one` method if subscriber has registered handlers."
        if self._popper is None:
            wanted, begin = self.subscription, self._popped_from
            if begin is None:
                raise FeatureNotSupportedException(
                    f"subscriber of {self.topic}: messages are not asked for one by one with broadcasting, "
                    'with a pattern or queues, nor from a moment on; consume_from is "last" or "first" there'
                )
            connection = groups_of(self._outer_config).connection
            await connection.need_topics([self.topic])
            popper = AsyncSimpleConsumer(
                self.group,
                consume_from=begin,
                ordered=wanted.ordered,
                instance=connection.instance,
                plugins=connection.options.plugins,
            )
            popper.subscribe(self.topic, wanted.expression)
            await popper.start()
            self._popper = popper
        return self._popper

    async def _popped(self, popper: AsyncSimpleConsumer, message: PoppedMessage) -> MqframeMessage:
        parser, decoder = self._get_parser_and_decoder()
        raw: RawMessage = (message,) if self.subscription.batch else message
        context = self._outer_config.context
        settlement = PoppedSettlement(popper, message)
        if self.ack_policy is AckPolicy.ACK_FIRST:
            await settlement.ack()
        parsed = await process_msg(
            msg=raw,
            middlewares=(m(raw, context=context) for m in self._broker_middlewares),
            parser=parser,
            decoder=decoder,
        )
        assert isinstance(parsed, MqframeMessage)
        if self.ack_policy is AckPolicy.ACK_FIRST:
            await parsed.ack()
        parsed.settlement = settlement
        return parsed

    # What FastStream asks for

    def _make_response_publisher(self, message: StreamMessage[Any]) -> Sequence[PublisherProto]:
        raw, producer = message.raw_message, self._outer_config.producer
        delivery = self._deliveries.get(id(raw))
        if delivery is not None:
            delivery.answered = True
        if not isinstance(raw, tuple):
            request = raw if isinstance(raw, ReceivedMessage) and is_request(raw) else None
            return (ReplyPublisher(producer, message.reply_to, request),)
        return [
            ReplyPublisher(producer, topic, each if is_request(each) else None, (index, len(raw)))
            for index, (each, headers) in enumerate(zip(raw, message.batch_headers, strict=True))
            if (topic := reply_address(each, headers))
        ]

    def get_log_context(self, message: StreamMessage[Any] | None) -> dict[str, str]:
        """What log lines say of a message."""
        context = {
            "topic": self.topic,
            "group": self.group,
            "message_id": getattr(message, "message_id", ""),
            "place": "",
        }
        raw = None if message is None else message.raw_message
        first = raw[0] if isinstance(raw, tuple) else raw
        if isinstance(first, ReceivedMessage):
            named = log_fields([first], self.group)
            context["place"] = f"{named['queue']}@{first.queue_offset}"
            for name, value in (
                ("key", named["keys"][0]),
                ("tag", named["tags"][0]),
                ("attempt", named["attempt"]),
            ):
                context["place"] += f" {name}={value}" if value else ""
        return context
