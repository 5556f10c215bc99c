"""Records and queue entries of a batch, laid out in one pass over the request's body."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple
from zlib import crc32

from mqframe.core.codes import SysFlag
from mqframe.core.errors import BodyError, MessageError
from mqframe.core.messages.batch import decode_batch, encode_element
from mqframe.core.messages.checks import check_key_count
from mqframe.core.messages.properties import POP_CHECK_POINT, PROPERTIES_BYTES_MAX, UNIQUE_KEY, find_property
from mqframe.core.storage.dispatch_facts import index_keys, queue_code
from mqframe.core.storage.property_crc import PROPERTY_CRC
from mqframe.core.storage.record import HEADS, topic_part
from mqframe.store.incoming import Incoming
from mqframe.store.queues.consume_queue import ENTRY

HOSTS_V6: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")
_ELEMENT_BYTES_MIN: Final = 22
_ELEMENT: Final = struct.Struct(">iiiii")
_KEY: Final = b"UNIQ_KEY\x01"
_PAIR_END: Final = 2


_NOT_FROM_SENDERS: Final = tuple(f"{name}\x01".encode() for name in (PROPERTY_CRC, POP_CHECK_POINT))
"""What a message may bring as the copy of another one, and would be believed of this one."""


class _NotItsOwn(Exception):
    """A message of the batch has a property that the store or its broker sets."""


class BatchLimits(NamedTuple):
    """What one batch may have: bytes of a body; messages, and as many keys of all; keys of one message."""

    body_bytes: int
    messages: int = 16_384
    keys: int = 1000


class LaidBatch(NamedTuple):
    """A batch as it will lie in the log: its bytes, the offset behind it, what dispatch needs of it."""

    records: bytes
    end: int
    entries: bytes
    codes: list[int]
    offsets: list[int]
    indexed: list[tuple[int, tuple[str, ...]]]


class _Shape(NamedTuple):
    """Properties that differ in nothing but the value of the unique key, `value_size` bytes behind `prefix`.

    They have `size` bytes, one tags `code`, and `keys` to be indexed under; `words` are those besides the
    unique key, `None` where the unique key is not their own.
    """

    prefix: bytes
    suffix: bytes
    size: int
    value_size: int
    code: int
    keys: tuple[str, ...]
    words: tuple[str, ...] | None


_NO_SHAPE: Final = _Shape(b"", b"", -1, 0, 0, (), None)


class BatchLayout:
    """Lays the messages of one batch out; all have what `head` says, and `extra` behind their properties.

    `now`: store time, ms; `levels`: delays of the delay levels.
    """

    def __init__(
        self, head: Incoming, extra: bytes, now: int, levels: tuple[int, ...], limits: BatchLimits
    ) -> None:
        self._head = head
        self._extra = extra
        self._now = now
        self._levels = levels
        self._limits = limits
        self._keys_max = 0
        self._cleaned = False

    def lay(self, raw: bytes, physical: int, queue_offset: int) -> LaidBatch:
        """The batch `raw` from log offset `physical` and queue offset `queue_offset` on.

        Properties that only the store or its broker sets are left out. Raises `BodyError` where `raw` is
        malformed, `MessageError` where a message is too large, or there are too many.
        """
        try:
            return self._lay(raw, physical, queue_offset)
        except _NotItsOwn:
            self._cleaned = True
            return self._lay(_cleaned(raw), physical, queue_offset)

    def _lay(self, raw: bytes, physical: int, queue_offset: int) -> LaidBatch:
        self._check_count(raw)
        head, extra, extra_size = self._head, self._extra, len(self._extra)
        fixed, same_for_all = self._fixed_part()
        magic, topic_bytes = topic_part(head.topic)
        overhead, queue_id = fixed.size + len(topic_bytes) + 2, head.queue_id
        body_max = self._limits.body_bytes
        pack, pack_short = fixed.pack, _SHORT.pack
        unpack, unpack_short = _ELEMENT.unpack_from, _SHORT.unpack_from
        prefix, suffix, shape_size, value_size, code, keys, words = _NO_SHAPE
        pieces: list[bytes] = []
        codes: list[int] = []
        offsets: list[int] = []
        sizes: list[int] = []
        keyed: list[tuple[str, ...]] = []
        position, stop_all = 0, len(raw)
        while position < stop_all:
            try:
                total, _, _, flag, body_size = unpack(raw, position)
                body_end = position + 20 + body_size
                (properties_size,) = unpack_short(raw, body_end)
            except struct.error as problem:
                raise _malformed(len(offsets), position, str(problem)) from None
            stop = body_end + 2 + properties_size
            if body_size < 0 or properties_size < 0 or stop - position != total or stop > stop_all:
                raise _malformed(len(offsets), position, f"says {total} bytes, has {stop - position}")
            properties = raw[body_end + 2 : stop]
            if extra_size and properties and properties[-1] != _PAIR_END:
                properties += b"\x02"
                properties_size += 1
            # Messages of one sender differ in nothing but the value of their unique key, mostly.
            value = properties[len(prefix) : len(prefix) + value_size]
            if (
                properties_size != shape_size
                or not (properties.startswith(prefix) and properties.endswith(suffix))
                or _PAIR_END in value
                or not value.isascii()
            ):
                prefix, suffix, shape_size, value_size, code, keys, words = self._shape(
                    properties, len(offsets)
                )
            elif words is not None:
                keys = (value.decode(), *words)
            properties_size += extra_size
            if body_size > body_max or properties_size > PROPERTIES_BYTES_MAX:
                raise too_large(body_size, body_max, properties_size)
            size = overhead + body_size + properties_size
            body = raw[position + 20 : body_end]
            pieces += (
                pack(
                    size, magic, crc32(body) & 0x7FFFFFFF, queue_id, flag, queue_offset, physical,
                    same_for_all, body_size,
                ),
                body,
                topic_bytes,
                pack_short(properties_size),
                properties,
                extra,
            )  # fmt: skip
            codes.append(code)
            keyed.append(keys)
            offsets.append(physical)
            sizes.append(size)
            physical += size
            queue_offset += 1
            position = stop
        if not offsets:
            raise BodyError("the batch holds no message")
        if self._keys_max * len(offsets) > self._limits.messages:
            self._check_keys(keyed)
        entries = b"".join(map(ENTRY.pack, offsets, sizes, codes))
        return LaidBatch(
            b"".join(pieces), physical, entries, codes, offsets, list(zip(offsets, keyed, strict=True))
        )

    def _fixed_part(self) -> tuple[struct.Struct, bytes]:
        """The fixed part with what all records share, from sys flag to prepared offset, as one field."""
        head = self._head
        born, store = head.born_host, head.store_host
        _, sys_flag = fixed_part(born, store, head.sys_flag)
        shared = struct.pack(
            f">iq{len(born)}sq{len(store)}siq",
            sys_flag, head.born_timestamp, born, self._now, store, 0, head.prepared_transaction_offset,
        )  # fmt: skip
        return struct.Struct(f">iiiiiqq{len(shared)}si"), shared

    def _shape(self, properties: bytes, number: int) -> _Shape:
        """What follows from `properties`, and which other properties it follows from just as well.

        None of these has names that this one has not, so that it is enough to look for those of others here.
        """
        if not self._cleaned and any(start in properties for start in _NOT_FROM_SENDERS):
            raise _NotItsOwn
        text = _decode(properties + self._extra, number)
        code, keys = queue_code(self._head.topic, text, self._now, self._levels), index_keys(text)
        if len(keys) > 2:
            check_key_count(text, self._limits.keys)
            self._keys_max = max(self._keys_max, len(keys))
        at = properties.find(_KEY)
        end = properties.find(b"\x02", at)
        start = at + len(_KEY)
        regular = properties[start:end].isascii() and end > start and properties.count(_KEY) == 1
        if at < 0 or not regular or (at and properties[at - 1] != _PAIR_END):
            return _Shape(properties, b"", len(properties), 0, code, keys, None)
        hidden = find_property(self._extra.decode(), UNIQUE_KEY) is not None
        words = None if hidden else keys[1:]
        return _Shape(properties[:start], properties[end:], len(properties), end - start, code, keys, words)

    def _check_count(self, raw: bytes) -> None:
        """Raise `MessageError` for more messages than may be, before time is spent on any of them."""
        limit = self._limits.messages
        if len(raw) <= limit * _ELEMENT_BYTES_MIN:
            return
        count = position = 0
        while position + 4 <= len(raw):
            (total,) = _INT.unpack_from(raw, position)
            count += 1
            if total < _ELEMENT_BYTES_MIN:
                return  # malformed, as will be said
            if count > limit:
                raise MessageError(f"the batch has more than {limit} messages (store.batch_messages_max)")
            position += total

    def _check_keys(self, keyed: list[tuple[str, ...]]) -> None:
        words, limit = sum(map(len, keyed)) - len(keyed), self._limits.messages
        if words > limit:
            raise MessageError(
                f"the messages of the batch have {words} keys, at most {limit} are indexed at once "
                "(store.batch_messages_max); send fewer together"
            )


def without_own(properties: bytes) -> bytes:
    """`properties`, in text form, as a sender may set them."""
    if not any(start in properties for start in _NOT_FROM_SENDERS):
        return properties
    return b"\x02".join(pair for pair in properties.split(b"\x02") if not pair.startswith(_NOT_FROM_SENDERS))


def _cleaned(batch: bytes) -> bytes:
    return b"".join(
        encode_element(bytes(body), without_own(bytes(properties)), flag)
        for flag, body, properties in decode_batch(batch)
    )


def fixed_part(born_host: bytes, store_host: bytes, sys_flag: int) -> tuple[struct.Struct, int]:
    """The layout of a record's fixed part for these packed hosts, and `sys_flag` with their bits set."""
    born_v6, store_v6 = len(born_host) == 20, len(store_host) == 20
    sys_flag = sys_flag & ~HOSTS_V6 | born_v6 * SysFlag.BORN_HOST_V6 | store_v6 * SysFlag.STORE_HOST_V6
    return HEADS[born_v6, store_v6], sys_flag


def too_large(body_size: int, body_max: int, properties_size: int) -> MessageError:
    """The error of a message whose body or properties are too large."""
    if body_size > body_max:
        remark = f"the body has {body_size} bytes, at most {body_max} are allowed"
    else:
        remark = f"the properties have {properties_size} bytes, at most {PROPERTIES_BYTES_MAX} are allowed"
    return MessageError(remark)


def _malformed(number: int, position: int, problem: str) -> BodyError:
    return BodyError(f"message {number} of the batch, at byte {position}: {problem}")


def _decode(properties: bytes, number: int) -> str:
    try:
        return properties.decode()
    except UnicodeDecodeError as problem:
        raise BodyError(f"message {number} of the batch: {problem}") from None
