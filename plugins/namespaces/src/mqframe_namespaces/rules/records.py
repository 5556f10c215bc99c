"""Records in answers of brokers: the same messages with the names that the application knows."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from mqframe.core.storage.record import MAGIC_V1, MAGIC_V2, head_of, parts_of, topic_part
from mqframe.core.wire.frame import Body
from mqframe_namespaces.rules.properties import renamed_properties

_SIZE_MAGIC: Final = struct.Struct(">ii")
_SHORT: Final = struct.Struct(">h")


def renamed_records(records: Body, topic_name: Callable[[str], str], name: Callable[[str], str]) -> bytes:
    """`records`, back to back, with topics as `topic_name` has them, and names in properties as `name` does.

    What is no record, and all behind it, stays as it is: whoever reads it says what is wrong.
    """
    raw, at = bytes(records), 0
    parts: list[bytes] = []
    known: dict[bytes, tuple[int, bytes]] = {}
    while at < len(raw):
        try:
            fields, start = head_of(raw, at)
            magic, body_end = fields[1], start + fields[14]
            if magic not in (MAGIC_V1, MAGIC_V2) or fields[14] < 0:
                break
            topic_at, properties_at, end = parts_of(raw, body_end, magic)
            if end - at != fields[0] or end > len(raw) or properties_at > end:
                break
            topic = raw[topic_at : properties_at - 2]
            if topic not in known:
                known[topic] = topic_part(topic_name(topic.decode()))
            properties = raw[properties_at:end]
            said = renamed_properties(properties.decode(), name).encode()
        except (struct.error, IndexError, UnicodeDecodeError):
            break
        magic, named = known[topic]
        size = body_end - at + len(named) + 2 + len(said)
        parts += (
            _SIZE_MAGIC.pack(size, magic), raw[at + 8 : body_end], named, _SHORT.pack(len(said)), said
        )  # fmt: skip
        at = end
    return b"".join((*parts, raw[at:]))
