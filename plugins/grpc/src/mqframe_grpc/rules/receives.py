"""What is received: the checks of a request, and what a stored message becomes for a client.

Source: ReceiveMessageActivity.java, ChangeInvisibleDurationActivity.java, GrpcConverter.java.
"""

from __future__ import annotations

from hashlib import md5
from typing import Final

import attrs

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import DLQ_PREFIX
from mqframe.core.messages.whole_numbers import whole_number
from mqframe.core.storage.record import RecordError, decode_records
from mqframe.core.wire.frame import Body
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.send_checks import OWN_NAMES
from mqframe_grpc.rules.sends import BORN_HOST, TRACE_CONTEXT, message_type
from mqframe_grpc.rules.times import duration_ms, is_moment, put_moment

DLQ_ORIGIN_TOPIC: Final = "DLQ_ORIGIN_TOPIC"
DLQ_ORIGIN_MESSAGE_ID: Final = "DLQ_ORIGIN_MESSAGE_ID"
_POLLING_CODE_SINCE: Final = "5.0.3"
"""Clients before this version do not know ILLEGAL_POLLING_TIME."""
_INT_MAX: Final = (1 << 31) - 1


@attrs.frozen
class ReceiveLimits:
    """How long received messages may be hidden, how long a receive may wait, and how much it gets.

    `renew_ms`: for how long messages of push consumers are hidden each time.
    """

    invisible_min_ms: int = 10_000
    invisible_max_ms: int = 12 * 3_600_000
    polling_min_ms: int = 5_000
    polling_max_ms: int = 20_000
    batch_max: int = 32
    renew_ms: int = 60_000


# Requests


def polling_ms(
    request: m.ReceiveMessageRequest,
    remaining_ms: int | None,
    request_timeout_ms: int,
    limits: ReceiveLimits,
    client_version: str | None,
) -> int:
    """How long a receive waits for messages, ms.

    `remaining_ms`: until the deadline of the call, `None` without one: then what the client asks for counts
    alone, or else the most; `request_timeout_ms`: of the client's settings; `client_version`: as it calls
    itself. Raises `Rejected`, ILLEGAL_POLLING_TIME for clients that know it and BAD_REQUEST for others, where
    the deadline is nearer than the shortest wait.
    """
    if request.HasField("long_polling_timeout"):
        wanted = duration_ms(request.long_polling_timeout)
    elif remaining_ms is not None:
        wanted = remaining_ms - request_timeout_ms // 2
    else:
        wanted = limits.polling_max_ms
    wanted = min(max(wanted, limits.polling_min_ms), limits.polling_max_ms)
    if remaining_ms is None or wanted <= remaining_ms:
        return wanted
    if remaining_ms >= limits.polling_min_ms:
        return remaining_ms
    known = client_version is not None and client_version >= _POLLING_CODE_SINCE  # compared as texts
    raise Rejected(
        m.Code.ILLEGAL_POLLING_TIME if known else m.Code.BAD_REQUEST,
        f"the call's deadline is {remaining_ms} ms away, too near to wait for messages; give it"
        f" {limits.polling_min_ms} ms at least",
    )


def invisible_ms(request: m.ReceiveMessageRequest, limits: ReceiveLimits) -> int:
    """For how long the messages of a receive are hidden at first, ms.

    Raises `Rejected` (ILLEGAL_INVISIBLE_TIME) where it is the client's choice, and out of bounds.
    """
    if request.auto_renew:
        return limits.renew_ms
    return _invisible_ms(request.invisible_duration, limits.invisible_min_ms, limits)


def changed_ms(request: m.ChangeInvisibleDurationRequest, limits: ReceiveLimits) -> int:
    """For how long a message is to be hidden from now on, ms; 0: not at all any more.

    Raises `Rejected` (ILLEGAL_INVISIBLE_TIME) for less than that, and for more than the most.
    """
    return _invisible_ms(request.invisible_duration, 0, limits)


def _invisible_ms(duration: m.Duration, least_ms: int, limits: ReceiveLimits) -> int:
    found = duration_ms(duration)
    if not least_ms <= found <= limits.invisible_max_ms:
        raise Rejected(
            m.Code.ILLEGAL_INVISIBLE_TIME,
            f"invisible duration is {found} ms; it may be {least_ms} to {limits.invisible_max_ms} ms",
        )
    return found


# Answers


def record_in(body: Body) -> ReceivedMessage:
    """The one record in `body`. Raises `Refusal` where there is none."""
    try:
        (message,) = decode_records(body, "")
    except (RecordError, ValueError) as problem:
        raise Refusal(ResponseCode.SYSTEM_ERROR, f"not one message: {problem}") from None
    return message


def message_of(message: ReceivedMessage, topic: m.Resource, handle: str) -> m.Message:
    """`message` as clients get it.

    `topic`: the one that was asked for, though the message may come from a retry topic; `handle`: the receipt
    handle, "" for a message that was not popped. The body is unpacked whatever it was packed with: clients
    know two or three kinds, each client others. Raises `BodyUnreadable` for a body that is damaged or
    larger than `message.unpacked_bytes_max`, and `FixError` where the package for its kind is not
    installed.
    """
    body = message.body
    properties = message.properties
    made = m.Message(body=body)
    made.topic.CopyFrom(topic)
    own = made.user_properties
    for name, value in properties.items():
        if name not in OWN_NAMES:
            own[name] = value
    said = made.system_properties
    if (tag := properties.get(p.TAGS)) is not None:
        said.tag = tag
    if keys := properties.get(p.KEYS):
        said.keys.extend([key for key in keys.split(" ") if key])
    said.message_id = message.message_id
    # CRC-32 would cost a third, but clients write it in three ways: with and without leading zeros, and in
    # decimal; each takes the others' for a damaged message. All write MD5 alike.
    digest = said.body_digest
    digest.type = m.DigestType.MD5
    digest.checksum = md5(body, usedforsecurity=False).hexdigest().upper()
    said.body_encoding = m.Encoding.IDENTITY
    said.message_type = message_type(properties)
    put_moment(said.born_timestamp, message.born_timestamp)
    born_host = properties.get(BORN_HOST, "")
    said.born_host = born_host if born_host.strip() else message.born_host.rpartition(":")[0].strip("[]")
    put_moment(said.store_timestamp, message.store_timestamp)
    said.store_host = message.store_host
    if handle:
        said.receipt_handle = handle
    said.queue_id = message.queue_id
    said.queue_offset = message.queue_offset
    said.delivery_attempt = min(max(message.reconsume_times, 0) + 1, _INT_MAX)
    _put_rare(said, message, properties)
    return made


def _put_rare(said: m.SystemProperties, message: ReceivedMessage, properties: dict[str, str]) -> None:
    if (group := properties.get(p.SHARDING_KEY)) is not None:
        said.message_group = group
    if (trace := properties.get(TRACE_CONTEXT)) is not None:
        said.trace_context = trace
    priority = whole_number(properties.get(p.PRIORITY, ""))
    if priority is not None and 0 <= priority <= _INT_MAX:
        said.priority = priority
    # The broker notes when a message was due that came with a delay instead of a time.
    due = properties.get(p.TIMER_DELIVER_MS) or properties.get(p.TIMER_OUT_MS)
    if due is not None:
        due_ms = whole_number(due)
        if due_ms is not None and is_moment(due_ms):
            put_moment(said.delivery_timestamp, due_ms)
    origin_topic, origin_id = properties.get(DLQ_ORIGIN_TOPIC), properties.get(DLQ_ORIGIN_MESSAGE_ID)
    if origin_topic is None and message.topic.startswith(DLQ_PREFIX):
        # What this broker buries says so in the way of all that comes again.
        origin_topic, origin_id = properties.get(p.RETRY_TOPIC), message.message_id
    if origin_topic is not None and origin_id is not None:
        said.dead_letter_queue.topic = origin_topic
        said.dead_letter_queue.message_id = origin_id
