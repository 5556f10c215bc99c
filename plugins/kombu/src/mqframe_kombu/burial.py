"""What becomes of messages that nobody is to have: rejected, come back too often, or too old."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from mqframe import AsyncAdmin, PoppedMessage
from mqframe.core.errors import MqframeError
from mqframe.core.requests.messages import ConsumerSendMsgBack
from mqframe.log import get_logger
from mqframe_kombu import envelope
from mqframe_kombu.held import Source
from mqframe_kombu.options import TransportOptions
from mqframe_kombu.queues import Queues

log = get_logger("kombu")

TO_DEAD_LETTERS: Final = -1
"""The delay level that makes a dead letter (SendMessageProcessor.java)."""


class Burial:
    """Makes dead letters. All of it runs on the loop of the link.

    `route`: the queues that get what is sent to an exchange with a routing key; `publish`: sends a payload
    to a queue, in any thread but that of the loop.
    """

    def __init__(
        self,
        admin: AsyncAdmin,
        queues: Queues,
        options: TransportOptions,
        route: Callable[[str, str], Awaitable[list[str]]],
        publish: Callable[[str, dict[str, Any]], bool],
    ) -> None:
        self._admin = admin
        self._queues = queues
        self._options = options
        self._route = route
        self._publish = publish

    async def bury(self, source: Source, popped: PoppedMessage, reason: str = "rejected") -> None:
        """Send it where its queue was declared to have dead letters, or make it one of the group.

        `reason`: as RabbitMQ calls it.
        """
        record = self._queues.known.get(source.queue)
        if record is not None and record.dead_letter_exchange is not None:
            if await self._to_exchange(source.queue, popped, reason):
                return
        elif record is not None and record.temporary:
            return
        if self._options.reject_to_dead_letters:
            await self._to_group(source, popped)

    async def drop(self, source: Source, popped: PoppedMessage) -> None:
        """It is too old: send it where its queue was declared to have dead letters, or nowhere."""
        record = self._queues.known.get(source.queue)
        if record is not None and record.dead_letter_exchange is not None:
            await self._to_exchange(source.queue, popped, "expired")

    async def _to_group(self, source: Source, popped: PoppedMessage) -> None:
        topic = self._queues.topic(source.queue, source.step)
        request = ConsumerSendMsgBack(
            offset=popped.commit_log_offset,
            group=topic,
            delay_level=TO_DEAD_LETTERS,
            origin_msg_id=popped.message_id,
            origin_topic=topic,
        )
        await self._admin.brokers.call(popped.broker_name, request)

    async def _to_exchange(self, queue: str, popped: PoppedMessage, reason: str) -> bool:
        """Publish it to the dead-letter exchange of `queue`; whether it can be read for that."""
        try:
            payload = envelope.to_payload(popped, queue, 0)
            headers = {
                "x-first-death-queue": queue,
                "x-first-death-reason": reason,
                **(payload["headers"] or {}),
            }
            sent_to = payload["properties"]["delivery_info"]
            before = sent_to.get("routing_key")
        except (MqframeError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            log.error("message cannot be read for a dead-letter exchange", queue=queue, reason=str(problem))
            return False
        record = self._queues.known[queue]
        exchange = record.dead_letter_exchange or ""
        key = record.dead_letter_routing_key or before or queue
        headers.pop("eta", None)
        payload["headers"] = headers
        payload["properties"]["delivery_info"] = {"exchange": exchange, "routing_key": key}
        payload["properties"].pop("expiration", None)
        for target in await self._route(exchange, key) if exchange else [key]:
            await asyncio.to_thread(self._publish, target, payload)
        return True
