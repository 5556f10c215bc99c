"""Records and queue entries of a batch, laid out in one pass over the request's body."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple
from zlib import crc32

from mqframe.core.codes import ResponseCode, SysFlag
from mqframe.core.dispatch_facts import index_keys, queue_code
from mqframe.core.errors import BodyError, Refusal
from mqframe.core.properties import PROPERTIES_BYTES_MAX
from mqframe.core.record import HEADS, topic_part
from mqframe.store.consume_queue import ENTRY
from mqframe.store.incoming import Incoming

HOSTS_V6: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
_SHORT: Final = struct.Struct(">h")
_ELEMENT: Final = struct.Struct(">iiiii")
_KEY: Final = b"UNIQ_KEY\x01"
_PAIR_END: Final = 2


class LaidBatch(NamedTuple):
    """A batch as it will lie in the log: its bytes, the offset behind it, what dispatch needs of it."""

    records: bytes
    end: int
    entries: bytes
    codes: list[int]
    offsets: list[int]
    indexed: list[tuple[int, tuple[str, ...]]]


class BatchLayout:
    """Lays the messages of one batch out; all have what `head` says, and `extra` behind their properties.

    `now`: store time, ms; `levels`: delays of the delay levels; `body_max`: bytes a body may have.
    """

    def __init__(
        self, head: Incoming, extra: bytes, now: int, levels: tuple[int, ...], body_max: int
    ) -> None:
        self._head = head
        self._extra = extra
        self._now = now
        self._levels = levels
        self._body_max = body_max
        # Of a property that occurs twice the last counts: those in `extra` would hide a message's own.
        self._hiding = b"TAGS\x01" in extra or b"KEYS\x01" in extra
        self._shared_key = index_keys(extra.decode()) if _KEY in extra and not self._hiding else ()

    def lay(self, raw: bytes, physical: int, queue_offset: int) -> LaidBatch:
        """The batch `raw` from log offset `physical` and queue offset `queue_offset` on.

        Raises `BodyError` where `raw` is malformed, `Refusal` where a message is too large.
        """
        head, extra, now = self._head, self._extra, self._now
        layout, sys_flag = fixed_part(head.born_host, head.store_host, head.sys_flag)
        magic, topic_bytes = topic_part(head.topic)
        queue_id, born, born_host, store_host = (
            head.queue_id, head.born_timestamp, head.born_host, head.store_host,
        )  # fmt: skip
        overhead, extra_size = layout.size + len(topic_bytes) + 2, len(extra)
        pack, pack_entry, pack_short = layout.pack, ENTRY.pack, _SHORT.pack
        unpack, unpack_short, body_max = _ELEMENT.unpack_from, _SHORT.unpack_from, self._body_max
        pieces: list[bytes] = []
        entries: list[bytes] = []
        codes: list[int] = []
        offsets: list[int] = []
        indexed: list[tuple[int, tuple[str, ...]]] = []
        known: dict[bytes, tuple[int, tuple[str, ...]]] = {}
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
            properties_size += extra_size
            if body_size > body_max or properties_size > PROPERTIES_BYTES_MAX:
                raise too_large(body_size, body_max, properties_size)
            code, keys = self._facts(properties, known, len(offsets))
            size = overhead + body_size + properties_size
            body = raw[position + 20 : body_end]
            pieces += (
                pack(
                    size, magic, crc32(body) & 0x7FFFFFFF, queue_id, flag, queue_offset, physical, sys_flag,
                    born, born_host, now, store_host, 0, 0, body_size,
                ),
                body,
                topic_bytes,
                pack_short(properties_size),
                properties,
                extra,
            )  # fmt: skip
            entries.append(pack_entry(physical, size, code))
            codes.append(code)
            offsets.append(physical)
            if keys:
                indexed.append((physical, keys))
            physical += size
            queue_offset += 1
            position = stop
        if not offsets:
            raise BodyError("the batch holds no message")
        return LaidBatch(b"".join(pieces), physical, b"".join(entries), codes, offsets, indexed)

    def _facts(
        self, properties: bytes, known: dict[bytes, tuple[int, tuple[str, ...]]], number: int
    ) -> tuple[int, tuple[str, ...]]:
        """Tags code and index keys of a message. What stands beside the unique key is often the same."""
        if self._hiding:
            return self._read(properties + self._extra, number)
        unique, rest = self._shared_key, properties
        at = properties.find(_KEY)
        if at >= 0:
            end = properties.find(b"\x02", at)
            value = properties[at + 9 : end]
            rest = properties[:at] + properties[end + 1 :]
            plain = end > at + 9 and (at == 0 or properties[at - 1] == _PAIR_END) and value.isascii()
            if not plain or _KEY in rest:
                return self._read(properties + self._extra, number)
            unique = unique or (value.decode(),)
        facts = known.get(rest)
        if facts is None:
            facts = known[rest] = self._read(rest, number)
        code, keys = facts
        return code, unique + keys if keys else unique

    def _read(self, properties: bytes, number: int) -> tuple[int, tuple[str, ...]]:
        try:
            text = properties.decode()
        except UnicodeDecodeError as problem:
            raise BodyError(f"message {number} of the batch: {problem}") from None
        return queue_code(self._head.topic, text, self._now, self._levels), index_keys(text)


def fixed_part(born_host: bytes, store_host: bytes, sys_flag: int) -> tuple[struct.Struct, int]:
    """The layout of a record's fixed part for these packed hosts, and `sys_flag` with their bits set."""
    born_v6, store_v6 = len(born_host) == 20, len(store_host) == 20
    sys_flag = sys_flag & ~HOSTS_V6 | born_v6 * SysFlag.BORN_HOST_V6 | store_v6 * SysFlag.STORE_HOST_V6
    return HEADS[born_v6, store_v6], sys_flag


def too_large(body_size: int, body_max: int, properties_size: int) -> Refusal:
    """The refusal of a message whose body or properties are too large."""
    if body_size > body_max:
        remark = f"the body has {body_size} bytes, at most {body_max} are allowed"
    else:
        remark = f"the properties have {properties_size} bytes, at most {PROPERTIES_BYTES_MAX} are allowed"
    return Refusal(ResponseCode.MESSAGE_ILLEGAL, remark)


def _malformed(number: int, position: int, problem: str) -> BodyError:
    return BodyError(f"message {number} of the batch, at byte {position}: {problem}")
