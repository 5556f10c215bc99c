"""The stored record, which is also what a pull answer holds (wire.md §6, store.md §2).

88 bytes of fixed fields when both hosts are IPv4, then body, topic (length in 1 byte, in 2 for version 2),
properties (length in 2 bytes). Each IPv6 host adds 12 bytes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from mqframe.core.codes import SysFlag
from mqframe.core.errors import GiveUpError
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import ReceivedMessage

MAGIC_V1: Final = -626843481
MAGIC_V2: Final = -626843477
MAGIC_BLANK: Final = -875286124
"""Marks the unused end of a commit-log file: {i32 bytes left, i32 this}."""
BLANK_BYTES: Final = 8
TOPIC_V1_BYTES_MAX: Final = 127

HEAD: Final = struct.Struct(">iiiiiqqiq8sq8siqi")
"""size, magic, CRC, queue id, flag, queue offset, physical offset, sys flag, born time, born host, store
time, store host, reconsume times, prepared transaction offset, body length: the part of fixed size, IPv4."""

HEADS: Final = {
    (born_v6, store_v6): struct.Struct(f">iiiiiqqiq{20 if born_v6 else 8}sq{20 if store_v6 else 8}siqi")
    for born_v6 in (False, True)
    for store_v6 in (False, True)
}
"""The fixed part by whether the born host and the store host are IPv6."""

_SIZE_MAGIC: Final = struct.Struct(">ii")
_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")
_V6: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
_PROPERTIES_MAX: Final = 32767


class RecordError(GiveUpError):
    """Bytes that are not a record."""


def body_crc(body: bytes | memoryview) -> int:
    """CRC-32 (IEEE) with the top bit cleared, as records hold it."""
    return zlib.crc32(body) & 0x7FFFFFFF


@lru_cache(maxsize=16384)
def topic_part(topic: str) -> tuple[int, bytes]:
    """The magic that a record of `topic` takes, and the topic with its length in front."""
    raw = topic.encode()
    if len(raw) <= TOPIC_V1_BYTES_MAX:
        return MAGIC_V1, bytes((len(raw),)) + raw
    return MAGIC_V2, _SHORT.pack(len(raw)) + raw


def encode_record(
    *,
    topic: str,
    queue_id: int,
    queue_offset: int,
    physical_offset: int,
    body: bytes | memoryview,
    properties: bytes,
    born_timestamp: int,
    born_host: bytes,
    store_timestamp: int,
    store_host: bytes,
    flag: int = 0,
    sys_flag: int = 0,
    reconsume_times: int = 0,
    prepared_transaction_offset: int = 0,
) -> bytes:
    """One record. Hosts are packed (`core.wire.addresses`); the host bits of `sys_flag` follow from them."""
    magic, topic_bytes = topic_part(topic)
    born_v6, store_v6 = len(born_host) == 20, len(store_host) == 20
    sys_flag &= ~(SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6)
    sys_flag |= born_v6 * SysFlag.BORN_HOST_V6 | store_v6 * SysFlag.STORE_HOST_V6
    head = HEADS[born_v6, store_v6]
    size = head.size + len(body) + len(topic_bytes) + 2 + len(properties)
    return b"".join(
        (
            head.pack(
                size,
                magic,
                body_crc(body),
                queue_id,
                flag,
                queue_offset,
                physical_offset,
                sys_flag,
                born_timestamp,
                born_host,
                store_timestamp,
                store_host,
                reconsume_times,
                prepared_transaction_offset,
                len(body),
            ),
            body,
            topic_bytes,
            _SHORT.pack(len(properties)),
            properties,
        )
    )


def copy_record(
    message: ReceivedMessage, place: tuple[str, int, int], physical_offset: int, properties: bytes
) -> bytes:
    """A record of `message` with other properties, as if it lay at `place`: topic, queue and queue offset."""
    topic, queue_id, queue_offset = place
    return encode_record(
        topic=topic,
        queue_id=queue_id,
        queue_offset=queue_offset,
        physical_offset=physical_offset,
        body=message.stored_body,
        properties=properties,
        born_timestamp=message.born_timestamp,
        born_host=encode_host(message.born_host),
        store_timestamp=message.store_timestamp,
        store_host=encode_host(message.store_host),
        flag=message.flag,
        sys_flag=message.sys_flag,
        reconsume_times=message.reconsume_times,
        prepared_transaction_offset=message.prepared_transaction_offset,
    )


def head_of(buffer: bytes | bytearray | memoryview, at: int) -> tuple[tuple[Any, ...], int]:
    """The fields of `HEAD` of the record at byte `at`, and the byte at which its body begins.

    Raises struct.error where there are not so many bytes.
    """
    # Read as IPv4 first, which most are; the flags lie before the hosts, and are right in any case.
    fields = HEAD.unpack_from(buffer, at)
    if not fields[7] & _V6:
        return fields, at + HEAD.size
    head = HEADS[bool(fields[7] & SysFlag.BORN_HOST_V6), bool(fields[7] & SysFlag.STORE_HOST_V6)]
    return head.unpack_from(buffer, at), at + head.size


def parts_of(buffer: bytes | bytearray | memoryview, body_end: int, magic: int) -> tuple[int, int, int]:
    """Bytes at which the topic and the properties of a record begin, and that behind it, as it says itself.

    Raises struct.error, IndexError where it says nothing of the kind.
    """
    if magic == MAGIC_V1:
        topic, size = body_end + 1, buffer[body_end]
    else:
        topic, size = body_end + 2, _SHORT.unpack_from(buffer, body_end)[0]
    properties = topic + size + 2
    return topic, properties, properties + _SHORT.unpack_from(buffer, properties - 2)[0]


def decode_record(buffer: bytes | memoryview, at: int = 0, broker_name: str = "") -> ReceivedMessage:
    """The record that starts at byte `at`. Bodies and properties are copied out, lengths are checked.

    Raises `RecordError`. The CRC is not checked (`body_crc` of the stored body tells).
    """
    try:
        fields, start = head_of(buffer, at)
        (size, magic, crc, queue_id, flag, queue_offset, physical_offset, sys_flag) = fields[:8]
        (born_time, born_host, store_time, store_host, reconsume_times, prepared, body_length) = fields[8:]
        if magic not in (MAGIC_V1, MAGIC_V2):
            raise RecordError(f"no record at byte {at}: magic {magic:#x}")
        body_end = start + body_length
        topic_at, properties_at, end = parts_of(buffer, body_end, magic)
        if body_length < 0 or end < properties_at or end - at != size or end > len(buffer):
            raise RecordError(f"record at byte {at} says {size} bytes, its parts have {end - at}")
        topic = topic_text(bytes(buffer[topic_at : properties_at - 2]))
    except (struct.error, IndexError, UnicodeDecodeError) as problem:
        raise RecordError(f"record at byte {at} cannot be read: {problem}") from problem
    return ReceivedMessage(
        topic,
        queue_id,
        queue_offset,
        physical_offset,
        size,
        born_time,
        store_time,
        born_host,
        store_host,
        reconsume_times,
        sys_flag,
        flag,
        crc,
        prepared,
        bytes(buffer[start:body_end]),
        bytes(buffer[properties_at:end]),
        broker_name,
    )


@lru_cache(maxsize=16384)
def topic_text(raw: bytes) -> str:
    """The topic whose bytes a record holds. Raises `UnicodeDecodeError`."""
    return raw.decode()


def decode_records(
    buffer: bytes | bytearray | memoryview, broker_name: str = ""
) -> Iterator[ReceivedMessage]:
    """All records of a pull answer, in order. Raises `RecordError` where the bytes stop being records."""
    # Most records (version 1, IPv4 hosts) are taken apart right here, which saves a third of the
    # time; `decode_record` does the rest, and finds the words for what is wrong.
    raw = bytes(buffer)
    at, end = 0, len(raw)
    unpack, make = HEAD.unpack_from, ReceivedMessage
    last_topic, topic = b"", ""
    while at < end:
        if end - at > HEAD.size:
            (
                size, magic, crc, queue_id, flag, queue_offset, physical_offset, sys_flag,
                born_time, born_host, store_time, store_host, reconsume_times, prepared, body_length,
            ) = unpack(raw, at)  # fmt: skip
            body_end = at + 88 + body_length
            if magic == MAGIC_V1 and not sys_flag & _V6 and body_length >= 0 and body_end < end:
                topic_end = body_end + 1 + raw[body_end]
                after = at + size
                if (
                    topic_end + 2 <= after <= end
                    and (raw[topic_end] << 8 | raw[topic_end + 1]) == after - topic_end - 2 <= _PROPERTIES_MAX
                ):
                    topic_bytes = raw[body_end + 1 : topic_end]
                    if topic_bytes != last_topic:
                        try:
                            topic, last_topic = topic_text(topic_bytes), topic_bytes
                        except UnicodeDecodeError as problem:
                            raise RecordError(f"record at byte {at} cannot be read: {problem}") from problem
                    yield make(
                        topic, queue_id, queue_offset, physical_offset, size, born_time, store_time,
                        born_host, store_host, reconsume_times, sys_flag, flag, crc, prepared,
                        raw[at + 88 : body_end], raw[topic_end + 2 : after], broker_name,
                    )  # fmt: skip
                    at = after
                    continue
        message = decode_record(raw, at, broker_name)
        yield message
        at += message.store_size
