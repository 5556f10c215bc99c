"""From received messages to those of handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NamedTuple

from faststream.message import StreamMessage, decode_message

from mqframe import ReceivedMessage
from mqframe.core.errors import BodyUnreadable
from mqframe.core.messages.properties import REPLY_TO_CLIENT, RESERVED
from mqframe.core.sending.request_reply import is_request
from mqframe_faststream.errors import undecodable
from mqframe_faststream.message import Delivery, MqframeMessage

CONTENT_TYPE = "content-type"
CORRELATION = "correlation_id"
REPLY_TO = "reply_to"
LENGTH = "content-length"
"""Says "0" for a body that was empty: messages are not, so one byte stands for it."""
EMPTY_BODY = b"\x00"


class _Part(NamedTuple):
    """As much of a message as its decoding needs."""

    body: bytes
    content_type: str | None


class MqframeParser:
    """Makes messages for handlers.

    `deliveries`: where to settle what is consumed now, by its identity; `path`: the named parts of a topic.
    """

    def __init__(
        self,
        deliveries: Mapping[int, Delivery] | None = None,
        path: Callable[[str], dict[str, Any]] = lambda topic: {},
    ) -> None:
        self._deliveries = {} if deliveries is None else deliveries
        self._path = path

    async def parse_message(self, message: ReceivedMessage) -> MqframeMessage:
        """One message. Raises `BodyUnreadable`, also to the listener whose message it is."""
        delivery = self._deliveries.get(id(message))
        headers = headers_of(message)
        parsed = MqframeMessage(
            raw_message=message,
            body=_body(message, headers, delivery),
            headers=headers,
            reply_to=reply_address(message, headers),
            content_type=headers.get(CONTENT_TYPE),
            correlation_id=headers.get(CORRELATION) or message.message_id,
            message_id=message.message_id,
            path=self._path(message.topic),
        )
        parsed.settlement = delivery
        return parsed

    async def parse_batch(self, message: tuple[ReceivedMessage, ...]) -> MqframeMessage:
        """Several messages. Raises `BodyUnreadable` as above."""
        delivery = self._deliveries.get(id(message))
        all_headers = [headers_of(each) for each in message]
        first, headers = message[0], all_headers[0]
        asking = map(reply_address, message, all_headers)
        parsed = MqframeMessage(
            raw_message=message,
            body=[_body(each, own, delivery) for each, own in zip(message, all_headers, strict=True)],
            headers=headers,
            batch_headers=all_headers,
            reply_to=next((address for address in asking if address), ""),
            content_type=headers.get(CONTENT_TYPE),
            correlation_id=headers.get(CORRELATION) or first.message_id,
            message_id=first.message_id,
            path=self._path(first.topic),
        )
        parsed.settlement = delivery
        return parsed

    async def decode_message(self, msg: StreamMessage[Any]) -> Any:
        """What the body says, by its content type. Raises `DecodeError` where it is not of that type."""
        return _decoded(msg, msg.raw_message)

    async def decode_batch(self, msg: StreamMessage[Any]) -> list[Any]:
        """What the bodies say, each by its own content type. Raises `DecodeError`."""
        return [
            _decoded(_Part(body, headers.get(CONTENT_TYPE)), raw)
            for body, headers, raw in zip(msg.body, msg.batch_headers, msg.raw_message, strict=True)
        ]


def _decoded(part: Any, raw: Any) -> Any:
    try:
        return decode_message(part)
    except ValueError as problem:
        raise undecodable(raw, problem) from None  # the cause would show the body in tracebacks


def headers_of(message: ReceivedMessage) -> dict[str, Any]:
    """The properties that applications set."""
    return {name: value for name, value in message.properties.items() if name not in RESERVED}


def reply_address(message: ReceivedMessage, headers: Mapping[str, Any]) -> str:
    """Where the handler's result goes to besides its publishers: a waiting client, a topic, or nowhere."""
    if is_request(message):
        return message.properties[REPLY_TO_CLIENT]
    return str(headers.get(REPLY_TO, ""))


def _body(message: ReceivedMessage, headers: MutableMapping[str, Any], delivery: Delivery | None) -> bytes:
    try:
        body = message.body
    except BodyUnreadable as problem:
        if delivery is not None:
            delivery.problem = problem
        raise
    if body == EMPTY_BODY and headers.get(LENGTH) == "0":
        del headers[LENGTH]
        return b""
    return body
