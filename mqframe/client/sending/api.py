"""Sends whose answer is awaited, and one-way sends: checks, limits and the choice of retry rules.

Shared by both faces; the blocking one drives these coroutines without a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mqframe.client.load import Load
from mqframe.client.producer_parts import ProducerParts
from mqframe.client.room import Room
from mqframe.client.send import Sender
from mqframe.core.errors import MessageError, answer_error
from mqframe.core.message import Message, MessageQueue, SendResult
from mqframe.core.message_checks import (
    check_batch,
    check_message,
    check_properties_size,
    check_sendable_topic,
)
from mqframe.core.properties import decode_properties
from mqframe.core.requests.messages import RecallMessage
from mqframe.core.route import TopicRoute
from mqframe.core.send_rules import NEVER, RetryRules
from mqframe.core.timer_rules import decode_recall_handle


class Sends:
    """Sends of one running producer. `room`: limits what waits for its answer."""

    __slots__ = ("_body_bytes_max", "_monotonic", "_parts", "_room", "_seconds", "sender")

    def __init__(self, parts: ProducerParts, sender: Sender, room: Room) -> None:
        self.sender = sender
        self._parts = parts
        self._room = room
        self._seconds = parts.settings.send_timeout_seconds
        self._body_bytes_max = parts.settings.body_bytes_max
        self._monotonic = sender.clock.monotonic

    async def route(self, topic: str) -> TopicRoute:
        """The route of `topic`, with queues to write. Raises `RouteError`."""
        return await self.sender.route(topic, self._seconds)

    async def one(
        self,
        message: Message,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
    ) -> SendResult:
        """Send one message."""
        check_message(message, self._body_bytes_max)
        return await self._send((message,), None, queue, selector, sharding_key, timeout)

    async def later(
        self,
        message: Message,
        wish: str,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
    ) -> SendResult:
        """Send one message for later delivery; `wish`: the properties that ask for it, in text form."""
        load = self._wishing(message, wish)
        return await self._send((message,), load, queue, selector, sharding_key, timeout)

    async def recall(self, topic: str, handle: str, timeout: float | None) -> str:
        """Take back the waiting message that `handle` names; gives its unique key."""
        seconds = self._seconds if timeout is None else timeout
        deadline = self._monotonic() + seconds
        try:
            broker_name = decode_recall_handle(handle).broker_name
        except (ValueError, AttributeError):
            raise MessageError(f"{handle!r} is no recall handle; pass SendResult.recall_handle") from None
        sender = self.sender
        route = await sender.route(topic, seconds)
        address = await sender.address(route, MessageQueue(topic, broker_name, 0), seconds)
        request = RecallMessage(topic, handle, sender.group)
        answer = await sender.port.invoke(address, request, timeout=deadline - self._monotonic())
        if answer.code:
            raise answer_error(answer.code, answer.remark, address)
        return (answer.ext or {}).get("msgId", "")

    def _wishing(self, message: Message, wish: str) -> Load:
        check_message(message, self._body_bytes_max)
        load = self.sender.loader.one(message)
        load.properties += wish
        # Hooks see what is asked of the broker.
        asked = {**message.properties, **decode_properties(wish)}
        load.messages = (msgspec.structs.replace(message, properties=asked),)
        check_properties_size(load.properties, message.topic)
        return load

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
        load = self.sender.loader.batch(messages)
        return await self._send(messages, load, queue, selector, sharding_key, timeout)

    async def encoded(
        self, topic: str, elements: bytes, queue: MessageQueue | None, timeout: float | None
    ) -> SendResult:
        """Send messages that are encoded already."""
        check_sendable_topic(topic)
        load = self.sender.loader.encoded(topic, elements, looked_at=self.sender.hooked)
        return await self._send(load.messages, load, queue, None, None, timeout)

    async def once(
        self,
        load: Load,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
        rules: RetryRules = NEVER,
    ) -> SendResult:
        """Send `load`, which was checked, and try again only as `rules` say: by default never."""
        return await self._send(load.messages, load, queue, selector, sharding_key, timeout, rules)

    async def loaded(
        self,
        load: Load,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
    ) -> SendResult:
        """Send `load`, which was checked, as any message."""
        return await self._send(load.messages, load, queue, selector, sharding_key, timeout)

    async def oneway(
        self,
        message: Message,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
        wish: str = "",
    ) -> None:
        """Send one message without an answer; `wish` as for `later`."""
        check_message(message, self._body_bytes_max)
        seconds = self._seconds if timeout is None else timeout
        deadline = self._monotonic() + seconds
        sender = self.sender
        route = await sender.route(message.topic, seconds)
        fixed = self._parts.fixed_queue(route, message, queue, selector, sharding_key)
        load = self._wishing(message, wish) if wish else sender.loader.one(message)
        await sender.oneway(load, route, fixed or sender.choose(route), deadline)

    async def _send(
        self,
        messages: Sequence[Message],
        load: Load | None,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
        timeout: float | None,
        rules: RetryRules | None = None,
    ) -> SendResult:
        seconds = self._seconds if timeout is None else timeout
        deadline = self._monotonic() + seconds
        message = messages[0]
        size = len(message.body if load is None else load.body)
        if not self._room.take(size):
            await self._room.wait(size, seconds)
        try:
            sender = self.sender
            route = sender.port.known_route(message.topic)
            if route is None or not route.write_queues():
                route = await sender.route(message.topic, seconds)
            fixed = None
            if queue is not None or sharding_key is not None or selector is not None:
                fixed = self._parts.fixed_queue(route, message, queue, selector, sharding_key)
            if rules is None:
                rules = self._parts.rules(fixed)
            if load is None:
                load = sender.loader.one(message)
            return await sender.deliver(load, rules, route, deadline, fixed=fixed)
        finally:
            self._room.give(size)
