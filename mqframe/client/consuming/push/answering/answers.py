"""Tells those who wait for replies what became of their requests."""

from __future__ import annotations

import asyncio
import random

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.consume_call import ConsumeCall
from mqframe.client.consuming.push.send_back import PRODUCER_GROUP
from mqframe.client.sending.api import SendApi
from mqframe.client.sending.in_flight_limit import AsyncInFlightLimit
from mqframe.client.sending.producer_parts import ProducerParts
from mqframe.core.errors import MqframeError
from mqframe.core.messages.log_fields import log_fields
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.sending.request_reply import ReplyMessage, failure_reply, is_expired
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock

log = get_logger("client")


class Answers:
    """Sends replies for a consumer of `group`, over the connections of `instance`. Belongs to its loop.

    `replies`: whether they get what listeners return; `tells`: whether they are told of failures.
    """

    def __init__(
        self, group: str, instance: ClientInstance, clock: LoopClock, *, replies: bool, tells: bool
    ) -> None:
        self._group = group
        self._instance = instance
        self._clock = clock
        self._replies = replies
        self._tells = tells
        self._leaving: set[asyncio.Task[None]] = set()
        self._api: SendApi | None = None

    def problem(self, call: ConsumeCall, message: ReceivedMessage) -> BaseException | None:
        """What who waits for the reply to `message` is to be told of `call`; `None`: nobody is."""
        return call.failure(message) if self._tells else None

    def asked(self, call: ConsumeCall) -> list[ReceivedMessage]:
        """The messages of `call` about which somebody is to be told."""
        return [message for message in call.messages if self.problem(call, message) is not None]

    async def failed(self, message: ReceivedMessage, problem: BaseException) -> bool:
        """Tell who waits for the reply to the request `message` that its handler raised `problem`.

        Whether that is settled: they know, or wait no longer.
        """
        if is_expired(message, self._clock.now_ms()):
            return True
        try:
            await self._sender().one(failure_reply(message, problem), None, None, None, None)
        except MqframeError as trouble:
            log.warning(
                "the sender of a request could not be told that it failed",
                reason=str(trouble),
                **log_fields([message], self._group),
            )
            return False
        return True

    def answered(self, call: ConsumeCall) -> None:
        """Have the reply sent that the listener of `call` gave, if it gave one."""
        if call.reply is not None and self._replies:
            task = asyncio.ensure_future(self._send(call.messages, call.reply))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def stop(self) -> None:
        """Wait until all replies are sent, or have failed: each has the time of a send."""
        if self._leaving:
            await asyncio.wait(set(self._leaving))

    async def _send(self, messages: list[ReceivedMessage], reply: ReplyMessage) -> None:
        try:
            await self._sender().one(reply, None, None, None, None)
        except MqframeError as trouble:
            log.warning("a reply could not be sent", reason=str(trouble), **log_fields(messages, self._group))

    def _sender(self) -> SendApi:
        if self._api is None:  # hardly any consumer needs it
            parts, clock = ProducerParts(PRODUCER_GROUP), self._clock
            pipeline = parts.loop_pipeline(self._instance, clock, random.Random())
            self._api = SendApi(parts, pipeline, AsyncInFlightLimit(parts.in_flight_count(), clock))
        return self._api
