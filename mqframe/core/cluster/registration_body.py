"""The body of a broker's registration in its three forms: JSON, compressed, and bare from before 3.0.11.

Compressed (wire.md §4): a zlib stream of length-prefixed parts: data version, topics as lines of text, filter
servers and, from 5.0.0, queue mappings. Source: RegisterBrokerBody.java, TopicConfig.java.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from mqframe.core.cluster.json_registration import Steps, json_steps
from mqframe.core.cluster.topic_bodies import RegisterBrokerBody, TopicConfig, TopicConfigTable
from mqframe.core.errors import BodyError
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import DataVersion

BARE_BELOW: Final = 37
"""Versions below (3.0.11) send the topic table alone."""
MAPPINGS_FROM: Final = 413
"""From here on (5.0.0) queue mappings follow."""
PLAIN_BYTES_MAX: Final = 32 * 1024 * 1024
"""Longest plain form that a compressed body may have: 20,000 topics with names of 40 letters take 1.3 MB,
100,000 with names of 127 letters 15 MB."""
PART_BYTES_MAX: Final = 1024 * 1024
"""Longest part of it, such as the line of a topic."""
SMALL_BYTES: Final = 1024 * 1024
"""A plain form up to this is unpacked in 2 ms."""
_SURELY_SMALL_BYTES: Final = 1024
"""A zlib stream up to this has no more than that: zlib packs 1,032 to 1 at most."""

_INT: Final = struct.Struct(">i")


class RegistrationSteps(NamedTuple):
    """A registration whose topics are read one by one: `body` without them, and what reads them."""

    body: RegisterBrokerBody
    topics: Steps


def is_large(data: bytes | bytearray | memoryview) -> bool:
    """Whether the zlib stream `data` goes on behind `SMALL_BYTES` plain bytes; no more are unpacked."""
    if len(data) <= _SURELY_SMALL_BYTES:
        return False
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(data, SMALL_BYTES)
    except zlib.error:
        return False
    return len(plain) == SMALL_BYTES and not unpacker.eof


def open_register_body(
    data: bytes | memoryview, version: int, compressed: bool, plain_bytes_max: int = PLAIN_BYTES_MAX
) -> RegistrationSteps:
    """The registration that a broker of protocol `version` sent, for what reads the topics in slices.

    A compressed body of more than `plain_bytes_max` bytes, unpacked, is refused. Raises `BodyError`, and so
    does reading the topics.
    """
    if data and version >= BARE_BELOW and compressed:
        parts = _Parts(_decompressed(data, plain_bytes_max))
        wrapper = TopicConfigTable(data_version=parts.version(), topic_queue_mapping_info_map={})
        body = RegisterBrokerBody([], wrapper)
        return RegistrationSteps(body, parts.steps(version, body))
    if len(data) > loose_json.DIALECT_BYTES_MAX:
        if version < BARE_BELOW:
            raise BodyError(f"registration of {len(data)} bytes of a broker before 3.0.11 is too long")
        body = RegisterBrokerBody()
        return RegistrationSteps(body, json_steps(bytes(data), body))
    if not data:
        body = RegisterBrokerBody()
    elif version < BARE_BELOW:
        table = loose_json.decode(data, TopicConfigTable)
        body = RegisterBrokerBody(topic_config_serialize_wrapper=table)
    else:
        body = loose_json.decode(data, RegisterBrokerBody)
    return RegistrationSteps(body, iter(body.topic_config_serialize_wrapper.topic_config_table.items()))


def _decompressed(data: bytes | memoryview, bytes_max: int) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(data, bytes_max)
    except zlib.error as problem:
        raise BodyError(f"registration of {len(data)} bytes is not zlib: {problem}") from None
    if not unpacker.eof:
        raise BodyError(
            f"registration is cut short or has more than {bytes_max} plain bytes"
            " (nameserver.registration_bytes_max)"
        )
    return plain


class _Parts:
    """Reads the parts of a decompressed registration."""

    def __init__(self, plain: bytes) -> None:
        self.plain = plain
        self.at = 0

    def version(self) -> DataVersion:
        return loose_json.decode(self.part(), DataVersion)

    def steps(self, version: int, body: RegisterBrokerBody) -> Iterator[tuple[str, TopicConfig]]:
        """The topics one by one; behind the last one `body` has the rest."""
        for _ in range(self.count()):
            config = _topic_config(self.part())
            yield config.topic_name or "", config
        servers: Any = loose_json.loads(self.part())
        body.filter_server_list = list(servers or ())
        mappings = body.topic_config_serialize_wrapper.topic_queue_mapping_info_map
        if version >= MAPPINGS_FROM and self.at < len(self.plain) and mappings is not None:
            for _ in range(self.count()):
                mapping = loose_json.decode(self.part(), dict[str, Any])
                mappings[str(mapping.get("topic"))] = mapping

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
        if length > PART_BYTES_MAX:
            raise BodyError(f"registration: a part of {length} bytes, more than {PART_BYTES_MAX}")
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
