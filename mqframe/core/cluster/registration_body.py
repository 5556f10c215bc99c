"""The body of a broker's registration in its three forms: JSON, compressed, and bare from before 3.0.11.

Compressed (wire.md §4): a zlib stream of length-prefixed parts: data version, topics as lines of text, filter
servers and, from 5.0.0, queue mappings. Source: RegisterBrokerBody.java, TopicConfig.java.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, Final

from mqframe.core import loosejson
from mqframe.core.bodies import DataVersion, RegisterBrokerBody, TopicConfig, TopicConfigTable
from mqframe.core.errors import BodyError

BARE_BELOW: Final = 37
"""Versions below (3.0.11) send the topic table alone."""
MAPPINGS_FROM: Final = 413
"""From here on (5.0.0) queue mappings follow."""
PLAIN_BYTES_MAX: Final = 256 * 1024 * 1024
"""Longest plain form that a compressed body may have."""

_INT: Final = struct.Struct(">i")


def decode_register_body(data: bytes | memoryview, version: int, compressed: bool) -> RegisterBrokerBody:
    """What a broker of protocol `version` told. Raises `BodyError`."""
    if not data:
        return RegisterBrokerBody()
    if version < BARE_BELOW:
        table = loosejson.decode(data, TopicConfigTable)
        return RegisterBrokerBody(topic_config_serialize_wrapper=table)
    if not compressed:
        return loosejson.decode(data, RegisterBrokerBody)
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(data, PLAIN_BYTES_MAX)
    except zlib.error as problem:
        raise BodyError(f"registration of {len(data)} bytes is not zlib: {problem}") from None
    if not unpacker.eof:
        raise BodyError(f"registration is cut short or has more than {PLAIN_BYTES_MAX} plain bytes")
    return _Parts(plain).read(version)


def encode_register_body(body: RegisterBrokerBody, compressed: bool) -> bytes:
    """`body` as it travels. Raises `BodyError` for attributes that the compressed form cannot carry."""
    if not compressed:
        return loosejson.dumps(body)
    table = body.topic_config_serialize_wrapper
    mappings = list((table.topic_queue_mapping_info_map or {}).values())
    parts = [_part(loosejson.dumps(table.data_version)), _INT.pack(len(table.topic_config_table))]
    for name, config in table.topic_config_table.items():
        attributes = loosejson.dumps(config.attributes).decode()
        if " " in attributes:
            raise BodyError(
                f"attributes of topic {name} hold a space, which a compressed registration cannot"
            )
        counts = f"{config.read_queue_nums} {config.write_queue_nums} {config.perm}"
        line = f"{config.topic_name or name} {counts} {config.topic_filter_type} {attributes}"
        parts.append(_part(line.encode()))
    parts += [_part(loosejson.dumps(body.filter_server_list)), _INT.pack(len(mappings))]
    parts += [_part(loosejson.dumps(mapping)) for mapping in mappings]
    return zlib.compress(b"".join(parts), 9)


def _part(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


class _Parts:
    """Reads the parts of a decompressed registration."""

    def __init__(self, plain: bytes) -> None:
        self.plain = plain
        self.at = 0

    def read(self, version: int) -> RegisterBrokerBody:
        data_version = loosejson.decode(self.part(), DataVersion)
        topics = {}
        for _ in range(self.count()):
            config = _topic_config(self.part())
            topics[config.topic_name or ""] = config
        servers: Any = loosejson.loads(self.part())
        mappings: dict[str, Any] = {}
        if version >= MAPPINGS_FROM and self.at < len(self.plain):
            for _ in range(self.count()):
                mapping = loosejson.decode(self.part(), dict[str, Any])
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
        config.attributes = loosejson.decode(words[5], dict[str, str])
    return config
