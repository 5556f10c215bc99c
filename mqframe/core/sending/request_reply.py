"""Requests that are messages, and the replies to them (source: MessageUtil.java, DefaultMQProducerImpl.java).

A request names the client that waits and a correlation id. Its reply carries both, and goes to any broker of
the cluster by which the request came, which hands it to the client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mqframe.core.errors import FixError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import Message, ReceivedMessage
from mqframe.core.messages.names import reply_topic
from mqframe.core.messages.properties import plain_text

REPLY = "reply"
"""The type of a message that is a reply (MixAll.REPLY_MESSAGE_FLAG)."""
_NEEDED: Final = (p.CLUSTER, p.REPLY_TO_CLIENT, p.CORRELATION_ID)
FAILED: Final = "MQFRAME_REQUEST_FAILED"
"""Property of a reply that says that the request failed: the error's type and message."""
FAILED_CHARACTERS_MAX: Final = 500
_DIGITS_MAX: Final = 18
REQUEST_MARK: Final = p.REPLY_TO_CLIENT.encode()
"""Stands in the properties of every request, and of hardly anything else."""


class ReplyMessage(Message, frozen=True, gc=False):
    """A reply on its way to who asked; made by `reply_to`, sent as any message.

    `correlation_id`: which request it answers; `client_id`: who waits; `ttl_ms`: how long the client waits,
    as the request said.
    """

    correlation_id: str = ""
    client_id: str = ""
    ttl_ms: str | None = None

    def system_properties(self) -> str:
        """What brokers and the client go by, in text form."""
        pairs = {
            p.MESSAGE_TYPE: REPLY,
            p.CORRELATION_ID: self.correlation_id,
            p.REPLY_TO_CLIENT: self.client_id,
            p.TTL: self.ttl_ms or "",
        }
        return p.encode_properties(pairs)


def is_request(message: ReceivedMessage) -> bool:
    """Whether a client waits, or waited, for the reply to `message`."""
    if not message.may_have(REQUEST_MARK):  # hardly any message is one
        return False
    asked = message.properties
    return all(asked.get(name) for name in _NEEDED)


def is_expired(message: ReceivedMessage, now_ms: int) -> bool:
    """Whether `message` is a request whose sender has given up by `now_ms`, as it said beforehand.

    By the clocks of both. A TTL of less than four digits is that of a client in Go: seconds (producer.go).
    """
    if not is_request(message):
        return False
    ttl = message.properties.get(p.TTL, "")
    if not (ttl.isascii() and ttl.isdigit() and len(ttl) <= _DIGITS_MAX):
        return False
    waits = int(ttl)
    return waits > 0 and message.born_timestamp + waits * (1000 if len(ttl) < 4 else 1) < now_ms


def reply_to(
    message: ReceivedMessage,
    body: bytes,
    *,
    tag: str | None = None,
    keys: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> ReplyMessage:
    """The reply to `message`, to be handed to a producer's `send`.

    Raises `FixError` when `message` is no request: nobody waits for an answer to it.
    """
    asked = message.properties
    missing = [name for name in _NEEDED if not asked.get(name)]
    if missing:
        raise FixError(
            f"message {message.message_id} of topic {message.topic} is no request: "
            f"it lacks {', '.join(missing)}; requests are sent with `request`"
        )
    return ReplyMessage(
        reply_topic(asked[p.CLUSTER]),
        body,
        tag,
        keys,
        properties or {},
        correlation_id=asked[p.CORRELATION_ID],
        client_id=asked[p.REPLY_TO_CLIENT],
        ttl_ms=asked.get(p.TTL),
    )


def failure_reply(message: ReceivedMessage, problem: BaseException) -> ReplyMessage:
    """What tells who waits for the reply to the request `message` that its handler raised `problem`.

    Who does not know the property `FAILED` sees a reply whose body is that text.
    """
    try:
        said = f": {problem}"
    except Exception:  # its __str__ is the application's
        said = ""
    text = plain_text(type(problem).__name__ + said, FAILED_CHARACTERS_MAX)
    return reply_to(message, text.encode("utf-8", "replace"), properties={FAILED: text})


def request_properties(correlation_id: str, client_id: str, timeout_seconds: float) -> str:
    """What makes a message a request, in text form."""
    return p.encode_properties(
        {
            p.CORRELATION_ID: correlation_id,
            p.REPLY_TO_CLIENT: client_id,
            p.TTL: f"{max(1, round(timeout_seconds * 1000)):04}",  # so that nobody takes it for seconds
        }
    )
