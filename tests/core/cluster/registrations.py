"""Registrations as brokers of Apache RocketMQ send them: JSON, or (which mqframe only reads) compressed."""

from __future__ import annotations

import struct
import zlib
from typing import Final

from mqframe.core.cluster.topic_bodies import RegisterBrokerBody
from mqframe.core.wire import loose_json

_INT: Final = struct.Struct(">i")


def encode_register_body(body: RegisterBrokerBody, compressed: bool) -> bytes:
    """`body` as it travels."""
    if not compressed:
        return loose_json.dumps(body)
    table = body.topic_config_serialize_wrapper
    mappings = list((table.topic_queue_mapping_info_map or {}).values())
    parts = [_part(loose_json.dumps(table.data_version)), _INT.pack(len(table.topic_config_table))]
    for name, config in table.topic_config_table.items():
        attributes = loose_json.dumps(config.attributes).decode()
        counts = f"{config.read_queue_nums} {config.write_queue_nums} {config.perm}"
        line = f"{config.topic_name or name} {counts} {config.topic_filter_type} {attributes}"
        parts.append(_part(line.encode()))
    parts += [_part(loose_json.dumps(body.filter_server_list)), _INT.pack(len(mappings))]
    parts += [_part(loose_json.dumps(mapping)) for mapping in mappings]
    return zlib.compress(b"".join(parts), 9)


def _part(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data
