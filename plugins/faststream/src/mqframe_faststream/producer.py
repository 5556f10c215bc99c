"""From commands to messages, and the messages to the broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from faststream._internal.endpoint.utils import ParserComposition
from faststream._internal.parser import BatchCodecProto, DefaultCodec
from faststream._internal.producer import ProducerProto
from faststream.exceptions import IncorrectState
from faststream.response import Response

from mqframe import (
    AsyncTransaction,
    AsyncTransactionProducer,
    CallTimeout,
    Message,
    MessageError,
    MqframeError,
    ReceivedMessage,
    RequestTimeout,
    RouteError,
    SendResult,
    TransactionSendResult,
    reply_to,
)
from mqframe.core.sending.request_reply import failure_reply, is_request
from mqframe.log import get_logger
from mqframe_faststream.errors import OptionError, ReplyTimeout
from mqframe_faststream.parser import CONTENT_TYPE, CORRELATION, EMPTY_BODY, LENGTH, REPLY_TO, MqframeParser
from mqframe_faststream.response import MqframePublishCommand, MqframeResponse, SendPlan

if TYPE_CHECKING:
    from fast_depends.library.serializer import SerializerProto
    from faststream._internal.parser import CodecProto
    from faststream._internal.types import AsyncCallable, CustomCallable

log = get_logger("faststream")

ANSWER_SECONDS = 3.0
"""How long `request` waits for the reply unless told."""
CROWD = 16
"""While so many sends wait for their answers, further messages are packed together."""
SMALL_BYTES = 4096
"""Bodies below it are not compressed, wherever they travel (`producer.compress_over_bytes`)."""


class MqframeProducer(ProducerProto[MqframePublishCommand]):
    """Encodes what is published, and sends it by the producer of a connection."""

    _parser: AsyncCallable
    _decoder: AsyncCallable

    def __init__(self, parser: CustomCallable | None, decoder: CustomCallable | None) -> None:
        default = MqframeParser()
        self._parser = ParserComposition(parser, default.parse_message)
        self._decoder = ParserComposition(decoder, default.decode_message)
        self.codec: CodecProto = DefaultCodec()
        self.serializer: SerializerProto | None = None
        self._sender: AsyncTransactionProducer | None = None
        self._under_way = 0

    def connect(
        self,
        sender: AsyncTransactionProducer,
        serializer: SerializerProto | None,
        codec: CodecProto | None = None,
    ) -> None:
        """Send by `sender` from now on."""
        self._sender = sender
        self.serializer = serializer
        self.codec = codec or DefaultCodec()

    def disconnect(self) -> None:
        """Send nothing more."""
        self._sender = None

    async def publish(self, cmd: MqframePublishCommand) -> SendResult | None:
        """Send one message, or the reply to a request. `None` where nobody waits for the broker's answer.

        Raises as `AsyncProducer.send`.
        """
        sender = self._connected()
        message = await self.message(cmd)
        plan = cmd.plan
        if cmd.request is not None:
            answer = reply_to(
                cmd.request, message.body, tag=message.tag, keys=message.keys, properties=message.properties
            )
            return await sender.send(answer, timeout=cmd.timeout)
        if not (plan.is_bound or plan.is_delayed or cmd.oneway):
            return await self._send(sender, message, cmd.timeout)
        send = sender.send_oneway if cmd.oneway else sender.send
        return await send(
            message,
            queue=plan.queue,
            sharding_key=plan.sharding_key,
            timeout=cmd.timeout,
            delay=plan.delay,
            deliver_at=plan.deliver_at,
            delay_level=plan.delay_level,
        )

    async def fail(self, messages: Iterable[ReceivedMessage], problem: BaseException) -> None:
        """Tell those who wait for replies to `messages` that the handler raised `problem`."""
        for message in messages:
            if not is_request(message):
                continue
            try:
                await self._connected().send(failure_reply(message, problem))
            except MqframeError as trouble:
                log.warning("the sender of a request could not be told that it failed", reason=str(trouble))

    async def publish_batch(self, cmd: MqframePublishCommand) -> SendResult:
        """Send all bodies to one queue in one request, stored all or none. Raises as `send_batch`."""
        sender = self._connected()
        plan = at_once(cmd.plan, "a batch")
        return await sender.send_batch(
            await self.messages(cmd), queue=plan.queue, sharding_key=plan.sharding_key, timeout=cmd.timeout
        )

    async def request(self, cmd: MqframePublishCommand) -> ReceivedMessage:
        """Send one message and wait for its reply. Raises `ReplyTimeout`, and as `AsyncProducer.request`."""
        sender = self._connected()
        plan = at_once(cmd.plan, "a request")
        seconds = ANSWER_SECONDS if cmd.timeout is None else cmd.timeout
        message = await self.message(cmd)
        until = asyncio.get_running_loop().time() + seconds
        try:
            return await sender.request(
                message, queue=plan.queue, sharding_key=plan.sharding_key, timeout=seconds
            )
        except (RequestTimeout, CallTimeout) as problem:
            raise ReplyTimeout(str(problem)) from problem
        except RouteError as problem:
            if asyncio.get_running_loop().time() < until:
                raise
            raise ReplyTimeout(str(problem)) from problem

    async def begin(self, cmd: MqframePublishCommand, check_after: float | None) -> AsyncTransaction:
        """A transaction around the message; it has begun when this returns. Raises as `send`."""
        sender = self._connected()
        plan = at_once(cmd.plan, "a transaction")
        transaction = sender.transaction(
            await self.message(cmd),
            queue=plan.queue,
            sharding_key=plan.sharding_key,
            timeout=cmd.timeout,
            check_after=check_after,
        )
        return await transaction.__aenter__()

    async def run(
        self, cmd: MqframePublishCommand, argument: Any, check_after: float | None
    ) -> TransactionSendResult:
        """Send a half, have the broker's listener do its transaction, end it. Raises as `send`."""
        sender = self._connected()
        plan = at_once(cmd.plan, "a transaction")
        return await sender.send_in_transaction(
            await self.message(cmd),
            argument,
            queue=plan.queue,
            sharding_key=plan.sharding_key,
            timeout=cmd.timeout,
            check_after=check_after,
        )

    async def _send(
        self, sender: AsyncTransactionProducer, message: Message, timeout: float | None
    ) -> SendResult:
        """Send a message that may go to any queue: in a request of its own, or where many are on their way
        with others. What is large goes alone, as it is packed then."""
        if self._under_way >= CROWD and timeout is None and len(message.body) < SMALL_BYTES:
            return await (await sender.submit(message))
        self._under_way += 1
        try:
            return await sender.send(message, timeout=timeout)
        finally:
            self._under_way -= 1

    # What is sent

    async def message(self, cmd: MqframePublishCommand) -> Message:
        """The message of `cmd`."""
        body, content_type = await self.codec.encode(cmd.body, self.serializer)
        return _message(cmd, body, content_type, cmd.plan, cmd.headers)

    async def messages(self, cmd: MqframePublishCommand) -> list[Message]:
        """The messages of a batch; each `Response` among them says more about its own."""
        bodies = [each.body if isinstance(each, Response) else each for each in cmd.batch_bodies]
        if not bodies:
            raise MessageError(f"a batch to {cmd.destination} needs at least one message")
        if isinstance(self.codec, BatchCodecProto):
            encoded = await self.codec.encode_batch(bodies, self.serializer)
        else:
            encoded = [await self.codec.encode(body, self.serializer) for body in bodies]
        made = []
        for each, (body, content_type) in zip(cmd.batch_bodies, encoded, strict=True):
            plan, headers = cmd.plan, cmd.headers
            if isinstance(each, Response):
                headers = {**headers, **each.headers}
            if isinstance(each, MqframeResponse):
                own = at_once(each.plan, "a batch")
                if own.sharding_key is not None or own.queue is not None:
                    raise OptionError(
                        "a batch goes to one queue: give sharding_key or queue to publish_batch itself"
                    )
                plan = own.over(plan)
            made.append(_message(cmd, body, content_type, plan, headers))
        return made

    def _connected(self) -> AsyncTransactionProducer:
        if self._sender is None:
            raise IncorrectState("the broker is not connected; call connect() or start() first")
        return self._sender


def at_once(plan: SendPlan, what: str) -> SendPlan:
    """`plan`, which may not ask for a later delivery of `what`. Raises `OptionError`."""
    if plan.is_delayed:
        raise OptionError(f"{what} cannot be delayed; leave delay, deliver_at and delay_level out")
    return plan


def _message(
    cmd: MqframePublishCommand,
    body: bytes,
    content_type: str | None,
    plan: SendPlan,
    headers: dict[str, Any],
) -> Message:
    # Properties are texts, and none is empty.
    properties = {name: str(value) for name, value in headers.items() if value is not None and value != ""}
    if content_type:
        properties.setdefault(CONTENT_TYPE, content_type)  # what the publisher says of its body goes before
    if cmd.correlation_id:
        properties[CORRELATION] = cmd.correlation_id
    if cmd.reply_to:
        properties[REPLY_TO] = cmd.reply_to
    if not body:
        body = EMPTY_BODY
        properties[LENGTH] = "0"
    return Message(cmd.destination, body, plan.tag, plan.keys, properties)
