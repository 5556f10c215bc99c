"""What the tests of `mqframe.store` share."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.found import Found
from mqframe.core.storage.record import decode_records
from mqframe.core.storage.stored import Stored
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.reader import StoreReader


def bodies(found: Found) -> list[bytes]:
    """The bodies of what a read found, in order."""
    return [message.body for part in found.parts for message in decode_records(part)]


def put(store: Any, *messages: Incoming) -> list[Stored]:
    """Store `messages` and let consumers see them."""
    stored = [store.writes.put(one) for one in messages]
    store.dispatch.now()
    return stored


def copy_all(master: MessageStore, slave: MessageStore, *, piece: int = 1000) -> None:
    """What the stream does: parts of at most `piece` bytes, none across the end of a file."""
    file_bytes = master.settings.commit_log_file_bytes
    at = slave.log.max_offset or master.log.min_offset
    while at < master.log.max_offset:
        size = min(piece, master.log.max_offset - at, file_bytes - at % file_bytes)
        part = master.log.log_bytes(at, size)
        assert part is not None
        slave.replica.append_copy(at, bytes(part))
        at += size
    slave.dispatch.now()


def log_of(store: MessageStore) -> bytes:
    """All bytes of its log, of the files."""
    files = sorted((store.settings.directory / "commitlog").iterdir())
    return b"".join(file.read_bytes() for file in files)[: store.log.max_offset - store.log.min_offset]


def open_below(directory: Path) -> list[str]:
    """The files below `directory` that are open here, as often as they are: other threads open others."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(path for path in found if Path(path).is_relative_to(directory))


def all_records(reader: StoreReader) -> list[ReceivedMessage]:
    """All messages of all queues, in the order of the log."""
    queues = [(topic, queue) for topic in reader.topics() for queue in reader.queue_ids(topic)]
    found = [message for queue in queues for message in reader.records(*queue, 0, 1 << 40)]
    return sorted(found, key=lambda message: message.commit_log_offset)


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
