"""Messages as rows of files: what a line of JSON says of one, for exports and imports."""

from __future__ import annotations

import base64
from typing import Any

from mqframe.core.errors import BodyUnreadable
from mqframe.core.messages.message import ReceivedMessage

Row = dict[str, Any]


def body_of(raw: bytes) -> Row:
    """A body as text, if it is UTF-8, else in base64, and the word that says which."""
    try:
        return {"body": raw.decode(), "body_encoding": "text"}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(raw).decode(), "body_encoding": "base64"}


def message_row(message: ReceivedMessage) -> Row:
    """All that a record says; a body that cannot be unpacked as it is stored."""
    try:
        body = message.body
    except BodyUnreadable:
        body = message.stored_body
    return {
        "topic": message.topic,
        "queue_id": message.queue_id,
        "queue_offset": message.queue_offset,
        "commit_log_offset": message.commit_log_offset,
        "stored_bytes": message.store_size,
        "message_id": message.message_id,
        "tag": message.tag,
        "keys": message.keys,
        "born_ms": message.born_timestamp,
        "born_host": message.born_host,
        "stored_ms": message.store_timestamp,
        "store_host": message.store_host,
        "reconsume_times": message.reconsume_times,
        "flag": message.flag,
        "sys_flag": message.sys_flag,
        "prepared_transaction_offset": message.prepared_transaction_offset,
        "body_crc": message.body_crc,
        "properties": message.properties,
    } | body_of(body)
