"""What brokers say of their replicas, epochs and logs, and of resets.

Source: HARuntimeInfo.java, EpochEntryCache.java, ResetOffsetBodyForC.java.
"""

from __future__ import annotations

import msgspec

from mqframe.core.consuming.bodies import OffsetTableBody
from mqframe.core.errors import BodyError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.loose_json import decode, loads


class HaClientRuntimeInfo(Body):
    """How a replica follows its master; what a master says of itself."""

    activated: bool = False
    last_read_timestamp: int = 0
    last_write_timestamp: int = 0
    master_addr: str | None = None
    master_flush_offset: int = 0
    max_offset: int = 0
    transferred_byte_in_second: int = 0


class HaConnectionInfo(Body):
    """A replica that follows: where it has the log up to, how far that is behind, what it is sent next, and
    how many bytes it was sent in the last second."""

    addr: str
    diff: int
    in_sync: bool
    slave_ack_offset: int
    transfer_from_where: int
    transferred_byte_in_second: int = 0


class HaRuntimeInfo(Body):
    """The replicas of a master, in `ha_connection_info`, and where its log ends, bytes."""

    ha_client_runtime_info: HaClientRuntimeInfo = msgspec.field(default_factory=HaClientRuntimeInfo)
    ha_connection_info: list[HaConnectionInfo] = []
    in_sync_slave_nums: int = 0
    master: bool = True
    master_commit_log_max_offset: int = 0


class EpochEntry(Body):
    """A term in the log: from which log offset to which, bytes; the last one ends at 2^63 - 1."""

    end_offset: int
    epoch: int
    start_offset: int


class EpochEntryCache(Body):
    """The terms that a log holds something of, oldest first; `max_offset`: where the log ends, bytes."""

    broker_id: int = 0
    broker_name: str = ""
    cluster_name: str = ""
    epoch_list: list[EpochEntry] = []
    max_offset: int = 0


class PushedOffset(Body):
    """An offset of one queue, as members written in C++ get it."""

    broker_name: str
    offset: int
    queue_id: int
    topic: str


class PushedOffsets(Body):
    """A reset as members written in C++ get it (ResetOffsetBodyForC.java)."""

    offset_table: list[PushedOffset] = []


def pushed_offsets(body: bytes) -> dict[MessageQueue, int]:
    """The offsets in the body of a reset (220), in either form. Raises `BodyError`."""
    if not body:
        return {}
    found = loads(body)
    table = found.get("offsetTable") if isinstance(found, dict) else None
    if isinstance(table, list):
        return {
            MessageQueue(each.topic, each.broker_name, each.queue_id): each.offset
            for each in decode(body, PushedOffsets).offset_table
        }
    offsets = decode(body, OffsetTableBody).offset_table
    for queue in offsets:
        if not isinstance(queue, MessageQueue):
            raise BodyError(f"reset: {queue!r} is no message queue")
    return offsets
