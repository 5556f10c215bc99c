"""What a reply is that a broker handed over, and whether it tells of a failure (source: MessageUtil.java)."""

from __future__ import annotations

from mqframe.core.errors import HeaderError, RequestFailed
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.sending.request_reply import FAILED
from mqframe_request_reply.requests import PushReplyMessageToClient


def check_reply(reply: ReceivedMessage) -> ReceivedMessage:
    """`reply`. Raises `RequestFailed` when it says that the request failed."""
    problem = reply.properties.get(FAILED)
    if problem is not None:
        correlation_id = reply.properties.get(p.CORRELATION_ID, "")
        raise RequestFailed(f"request {correlation_id} failed at its receiver {reply.born_host}: {problem}")
    return reply


def pushed_reply(fields: PushReplyMessageToClient, body: bytes, arrived_ms: int) -> ReceivedMessage:
    """The reply that a broker handed to this client at `arrived_ms`. Raises `HeaderError`."""
    text = fields.properties or ""
    if text and text[-1] != p.PAIR_END:
        text += p.PAIR_END
    text += p.encode_properties({p.ARRIVE_TIME: str(arrived_ms)})
    try:
        born_host, store_host = encode_host(fields.born_host), encode_host(fields.store_host)
    except ValueError as problem:
        raise HeaderError(f"PushReplyMessageToClient: {problem}") from None
    return ReceivedMessage(
        fields.topic,
        fields.queue_id,
        0,
        0,
        0,
        fields.born_timestamp,
        fields.store_timestamp,
        born_host,
        store_host,
        fields.reconsume_times or 0,
        fields.sys_flag,
        fields.flag,
        0,
        0,
        body,
        text.encode(),
    )
