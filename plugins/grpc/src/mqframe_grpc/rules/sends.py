"""What a message that is sent becomes for a broker, and which queue takes it.

Source: SendMessageActivity.java, ProducerProcessor.java, TopicMessageType.java.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from mqframe.core.codes import SysFlag
from mqframe.core.messages import properties as p
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.routes import MIXED, TopicType
from mqframe_grpc.rules.send_checks import (
    SendLimits,
    check_body,
    delivery_ms,
    has_control,
    recovery_seconds,
)
from mqframe_grpc.rules.times import moment_ms

BORN_HOST: Final = "__BORNHOST"
TRACE_CONTEXT: Final = "TRACE_CONTEXT"

_HOST_CHARACTERS_MAX: Final = 255
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
# Enums of the protocol are looked up slowly.
_TRANSACTION: Final = int(m.MessageType.TRANSACTION)
_NORMAL, _FIFO = m.MessageType.NORMAL, m.MessageType.FIFO
_GZIP: Final = int(m.Encoding.GZIP)
_PLAIN: Final = (int(m.Encoding.IDENTITY), int(m.Encoding.ENCODING_UNSPECIFIED))
_DELAYS: Final = frozenset((p.DELAY, p.TIMER_DELIVER_MS, p.TIMER_DELAY_SEC, p.TIMER_DELAY_MS))


class SendDraft(NamedTuple):
    """A message as a broker gets it.

    `message_id`: the sender's; `body`: unpacked; `sys_flag`: bits of `SysFlag`; `born_timestamp`: ms;
    `group`: the message group, "" without one; `text`: all properties in their text form, where compiled code
    has made it, and `properties` are those alone that tell the type of the message; else "".
    """

    message_id: str
    properties: dict[str, str]
    body: bytes
    sys_flag: int
    born_timestamp: int
    group: str
    text: str = ""


def draft(message: m.Message, peer_address: str, now_ms: int, limits: SendLimits) -> SendDraft:
    """What a broker stores of `message`, which passed `check_sends`.

    `peer_address`: whom it came from, for a message that does not say where it was born. Raises `Rejected`:
    MESSAGE_CORRUPTED for a body that cannot be unpacked, MESSAGE_BODY_TOO_LARGE for one that becomes too
    large, of which no more is unpacked than the limit.
    """
    said = message.system_properties
    topic = message.topic.name
    properties = dict(message.user_properties.items())
    sys_flag = 0
    if tag := said.tag:
        properties[p.TAGS] = tag
    if keys := " ".join(filter(None, said.keys)):
        properties[p.KEYS] = keys
    message_id = properties[p.UNIQUE_KEY] = said.message_id
    if said.message_type == _TRANSACTION:
        sys_flag = SysFlag.TRANSACTION_PREPARED
        properties[p.TRANSACTION_PREPARED] = "true"
        seconds = recovery_seconds(said, limits)
        if seconds is not None:
            properties[p.CHECK_IMMUNITY_SECONDS] = str(seconds)
    delivery = delivery_ms(said)
    if delivery is not None:
        properties[p.TIMER_DELIVER_MS] = str(delivery)
    if (attempt := said.delivery_attempt) > 0:
        properties[p.RECONSUME_TIME] = str(attempt)
    properties[p.PRODUCER_GROUP] = topic
    if group := said.message_group:
        properties[p.SHARDING_KEY] = group
    if said.HasField("priority"):
        properties[p.PRIORITY] = str(said.priority)
    if trace := said.trace_context:
        properties[TRACE_CONTEXT] = trace
    born_host = _born_host(said.born_host) or peer_address
    if born_host:
        properties[BORN_HOST] = born_host
    # A sender without a clock, and one whose clock shows no time that there is, are taken for punctual.
    born = moment_ms(said.born_timestamp) or now_ms
    properties[p.BORN_TIMESTAMP] = str(born)
    return SendDraft(message_id, properties, _plain(message.body, said, limits), sys_flag, born, group)


def check_type(properties: Mapping[str, str], topic: str, topic_type: TopicType | None) -> None:
    """Raise `Rejected` unless a topic of this type takes a message with `properties`.

    `topic_type` is `None` for a topic that does not exist: TOPIC_NOT_FOUND, as topics are not made by sends.
    Retry and dead-letter topics take each type.
    """
    if topic_type == MIXED or topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        return
    if topic_type is None:
        raise Rejected(m.Code.TOPIC_NOT_FOUND, f"topic {topic} does not exist; an operator has to make it")
    found = message_type(properties)
    if found != topic_type:
        expected = topic_type.name.removeprefix("MESSAGE_TYPE_")
        raise Rejected(
            m.Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
            f"topic {topic} takes messages of type {expected}, and this one is of type {found.name}; send it"
            " to a topic of its type",
        )


def message_type(properties: Mapping[str, str]) -> m.MessageType:
    """The type of a message, sent or stored, by its properties: whatever it calls itself."""
    if properties.get(p.TRANSACTION_PREPARED) == "true":
        return m.MessageType.TRANSACTION
    if not _DELAYS.isdisjoint(properties):
        return m.MessageType.DELAY
    if p.SHARDING_KEY in properties:
        return _FIFO
    return m.MessageType.PRIORITY if p.PRIORITY in properties else _NORMAL


def queue_of(group: str, queues: int) -> int:
    """Which of `queues` writable ones, by broker name and id, takes the messages of a message group.

    The same as at Apache's proxies, which may serve the same topic at the same time.
    """
    return consistent_hash(java_hash(group), queues)


def consistent_hash(value: int, buckets: int) -> int:
    """The bucket of `value`, a signed number of 64 bits, among `buckets`, at least one.

    One bucket more moves few values. Source: Guava's Hashing.consistentHash, bit for bit.
    """
    state = value & 0xFFFFFFFFFFFFFFFF
    candidate = 0
    while True:
        state = (2862933555777941757 * state + 1) & 0xFFFFFFFFFFFFFFFF
        step = (state >> 33) + 1
        if step == 1 << 31:  # does not fit Java's int: it turns negative there
            return candidate
        following = int((candidate + 1) / (step / 0x80000000))
        if following >= buckets:
            return candidate
        candidate = following


def _born_host(host: str) -> str:
    """Empty for what is no host, and could become another property."""
    return "" if len(host) > _HOST_CHARACTERS_MAX or not host.strip() or has_control(host) else host


def _plain(body: bytes, said: m.SystemProperties, limits: SendLimits) -> bytes:
    encoding = said.body_encoding
    if encoding == _GZIP:
        return _unpacked(body, limits)
    if encoding not in _PLAIN:
        raise Rejected(
            m.Code.MESSAGE_CORRUPTED, f"body encoding {encoding} is not known; IDENTITY and GZIP are"
        )
    return body


def _unpacked(body: bytes, limits: SendLimits) -> bytes:
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
    most = limits.body_bytes_max
    try:
        plain = unpacker.decompress(body, most + 1)
    except zlib.error as problem:
        raise _damaged(body, str(problem)) from None
    if len(plain) > most:
        raise Rejected(
            m.Code.MESSAGE_BODY_TOO_LARGE,
            f"the body of {len(body)} bytes unpacks to more than {most} bytes, which is the most",
        )
    if not unpacker.eof:
        raise _damaged(body, "it is cut short")
    if unpacker.unused_data:
        raise _damaged(body, f"{len(unpacker.unused_data)} bytes stand behind its end")
    check_body(len(plain), limits)
    return plain


def _damaged(body: bytes, problem: str) -> Rejected:
    return Rejected(m.Code.MESSAGE_CORRUPTED, f"the GZIP body of {len(body)} bytes is damaged: {problem}")
