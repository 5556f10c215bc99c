"""What the tests of `mqframe.store` share."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.record import decode_records
from mqframe.core.storage.stored import Stored
from mqframe.store.incoming import Found, Incoming


def bodies(found: Found) -> list[bytes]:
    """The bodies of what a read found, in order."""
    return [message.body for part in found.parts for message in decode_records(part)]


def put(store: Any, *messages: Incoming) -> list[Stored]:
    """Store `messages` and let consumers see them."""
    stored = [store.writes.put(one) for one in messages]
    store.dispatch.now()
    return stored


def open_below(directory: Path) -> list[str]:
    """The files below `directory` that are open here, as often as they are: other threads open others."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(path for path in found if Path(path).is_relative_to(directory))


def as_listed(message: ReceivedMessage) -> dict[str, Any]:
    """The fields that the manifest lists of a stored message."""
    return {
        "topic": message.topic,
        "queueId": message.queue_id,
        "queueOffset": message.queue_offset,
        "commitLogOffset": message.commit_log_offset,
        "storeSize": message.store_size,
        "bornTimestamp": message.born_timestamp,
        "storeTimestamp": message.store_timestamp,
        "reconsumeTimes": message.reconsume_times,
        "preparedTransactionOffset": message.prepared_transaction_offset,
        "flag": message.flag,
        "bodyCRC": message.body_crc,
        "msgId": message.message_id,
        "properties": message.properties,
        "bodyLength": len(message.body),
        "bodySha256": hashlib.sha256(message.body).hexdigest(),
    }
