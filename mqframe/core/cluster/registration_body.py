"""The body of a broker's registration in its three forms: JSON, compressed, and bare from before 3.0.11.

Compressed (wire.md §4): a zlib stream of length-prefixed parts: data version, topics as lines of text, filter
servers and, from 5.0.0, queue mappings. Source: RegisterBrokerBody.java, TopicConfig.java.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, Final

from mqframe.core.cluster.topic_bodies import RegisterBrokerBody, TopicConfig, TopicConfigTable
from mqframe.core.errors import BodyError
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import DataVersion

BARE_BELOW: Final = 37
"""Versions below (3.0.11) send the topic table alone."""
MAPPINGS_FROM: Final = 413
"""From here on (5.0.0) queue mappings follow."""
PLAIN_BYTES_MAX: Final = 256 * 1024 * 1024
"""Longest plain form that a compressed body may have."""

_INT: Final = struct.Struct(">i")


def decode_register_body(data: bytes | memoryview, version: int, compressed: bool) -> RegisterBrokerBody:
    """The registration that a broker of protocol `version` sent. Raises `BodyError`."""
    if not data:
        return RegisterBrokerBody()
    if version < BARE_BELOW:
        table = loose_json.decode(data, TopicConfigTable)
        return RegisterBrokerBody(topic_config_serialize_wrapper=table)
    if not compressed:
        return loose_json.decode(data, RegisterBrokerBody)
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(data, PLAIN_BYTES_MAX)
    except zlib.error as problem:
        raise BodyError(f"registration of {len(data)} bytes is not zlib: {problem}") from None
    if not unpacker.eof:
        raise BodyError(f"registration is cut short or has more than {PLAIN_BYTES_MAX} plain bytes")
    return _Parts(plain).read(version)


class _Parts:
    """Reads the parts of a decompressed registration."""

    def __init__(self, plain: bytes) -> None:
        self.plain = plain
        self.at = 0

    def read(self, version: int) -> RegisterBrokerBody:
        data_version = loose_json.decode(self.part(), DataVersion)
        topics = {}
        for _ in range(self.count()):
            config = _topic_config(self.part())
            topics[config.topic_name or ""] = config
        servers: Any = loose_json.loads(self.part())
        mappings: dict[str, Any] = {}
        if version >= MAPPINGS_FROM and self.at < len(self.plain):
            for _ in range(self.count()):
                mapping = loose_json.decode(self.part(), dict[str, Any])
                mappings[str(mapping.get("topic"))] = mapping
        wrapper = TopicConfigTable(data_version, None, topics, None, mappings)
        return RegisterBrokerBody(list(servers or ()), wrapper)

    def count(self) -> int:
        if self.at + 4 > len(self.plain):
            raise BodyError(
                f"registration ends at byte {len(self.plain)}, a number was expected at {self.at}"
            )
        (value,) = _INT.unpack_from(self.plain, self.at)
        self.at += 4
        if not 0 <= value <= len(self.plain):
            raise BodyError(f"registration says {value} at byte {self.at - 4} of {len(self.plain)}")
        return int(value)

    def part(self) -> bytes:
        length = self.count()
        end = self.at + length
        if end > len(self.plain):
            raise BodyError(
                f"registration: {length} bytes at byte {self.at} pass its end at {len(self.plain)}"
            )
        part = self.plain[self.at : end]
        self.at = end
        return part


def _topic_config(line: bytes) -> TopicConfig:
    try:
        words = line.decode().split(" ")
        name, read, write, perm, filter_type = words[:5]
        config = TopicConfig(
            topic_name=name,
            read_queue_nums=int(read),
            write_queue_nums=int(write),
            perm=int(perm),
            topic_filter_type=filter_type,
        )
    except (UnicodeDecodeError, ValueError) as problem:
        raise BodyError(f"topic {line[:80]!r} of a registration cannot be read: {problem}") from None
    if len(words) >= 6 and words[5]:
        config.attributes = loose_json.decode(words[5], dict[str, str])
    return config
