"""Requests of one producer: a message, and the wait for its reply (DefaultMQProducerImpl.request)."""

from __future__ import annotations

import asyncio

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.sending.api import SendApi
from mqframe.client.sending.prepared_sends import begin
from mqframe.client.settings import ProducerSettings
from mqframe.core.errors import CallTimeout, MqframeError, RouteError
from mqframe.core.messages.checks import check_message, check_properties_size
from mqframe.core.messages.message import Message, MessageQueue, ReceivedMessage
from mqframe.core.messages.names import reply_topic
from mqframe.core.messages.properties import decode_properties
from mqframe.core.sending.request_reply import request_properties
from mqframe.core.sending.time_limit import time_limit
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, within
from mqframe_request_reply.client.replies import Replies
from mqframe_request_reply.rules.replies import check_reply

log = get_logger("client")


class Requests:
    """Sends requests by `api`, on the loop of `instance`."""

    def __init__(
        self, instance: ClientInstance, api: SendApi, clock: LoopClock, settings: ProducerSettings
    ) -> None:
        self._instance = instance
        self._api = api
        self._clock = clock
        self._seconds = settings.reply_timeout_seconds
        self._known: dict[str, asyncio.Future[None]] = {}

    async def request(
        self,
        message: Message,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
    ) -> ReceivedMessage:
        """The reply to `message`. Raises what a send raises, `RequestTimeout` and `RequestFailed`."""
        seconds = time_limit(timeout, self._seconds)
        deadline = self._clock.monotonic() + seconds
        check_message(message, self._api.plain_bytes_max)
        known = self._known.get(message.topic)
        if known is None or not known.done() or known.cancelled() or known.exception() is not None:
            await self._make_known(message.topic, seconds)
        replies: Replies = self._instance.replies
        correlation_id, reply = replies.expect(deadline)
        try:
            # Brokers may have taken their time to know this client: nobody is to work longer than it waits.
            left = deadline - self._clock.monotonic()
            asked = request_properties(correlation_id, self._instance.client_id, left)
            try:
                with begin(
                    self._api.pipeline.preparing,
                    message,
                    asked=decode_properties(asked),
                    sharding_key=sharding_key,
                ) as prepared:
                    [message] = prepared.messages
                    batch = prepared.carried_by(self._api.pipeline.encoder.one(message))
                    batch.properties += asked
                    check_properties_size(batch.properties, message.topic)
                    left = deadline - self._clock.monotonic()
                    prepared.done(await self._api.send(message, batch, queue, selector, sharding_key, left))
            except MqframeError:
                if not reply.done() or reply.exception() is not None:
                    raise  # a reply that is there says that the request went well after all
            replies.sent(correlation_id)
            return check_reply(await reply)
        finally:
            replies.forget(correlation_id)
            if reply.done() and not reply.cancelled():
                reply.exception()  # whoever gave up will not ask for it

    async def _make_known(self, topic: str, seconds: float) -> None:
        """Wait until brokers know this client; the first requests of a topic share the way there.

        Raises `RouteError`, also when it takes longer than `seconds`.
        """
        known = self._known.get(topic)
        if known is None or known.done():
            known = self._known[topic] = asyncio.ensure_future(self._become_known(topic))
            known.add_done_callback(_look_at)
        try:
            await within(self._clock, seconds, asyncio.shield(known))
        except CallTimeout:
            raise RouteError(
                f"brokers of topic {topic} did not get to know this client within {seconds:g} s; "
                "nothing was sent"
            ) from None

    async def _become_known(self, topic: str) -> None:
        """Have the brokers that may get the reply know this client before the request leaves.

        That is all of the topic's clusters: a replier may use any of them.
        """
        instance = self._instance
        route = await self._api.route(topic)
        for cluster in sorted({broker.cluster for broker in route.data.broker_datas if broker.cluster}):
            try:
                await instance.route(reply_topic(cluster))
            except RouteError as problem:
                log.info("reply topic has no route", cluster=cluster, reason=str(problem))
        await instance.heartbeat_now()


def _look_at(known: asyncio.Future[None]) -> None:
    # Whoever waited for it may be gone; an error that nobody looks at would be logged as a fault.
    if not known.cancelled():
        known.exception()
