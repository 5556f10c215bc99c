"""Answers of a broker to operators: time spans, statistics, lags, entries, epochs, forbidden groups, resets.

Source: QueueTimeSpan.java, QueryCorrectionOffsetBody.java, BrokerStatsData.java, ConsumeStatsList.java,
QueryConsumeQueueResponseBody.java, GroupForbidden.java, EpochEntryCache.java.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import msgspec

from mqframe.core.consuming.bodies import ConsumeStats, OffsetTableBody, QueueBody
from mqframe.core.errors import BadAnswer, BodyError
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.loose_json import decode, loads


class QueueTimeSpan(Body):
    """Times of one queue, ms since 1970: of its oldest and newest message, and of what was consumed last.

    `delay_time`: age of the message that comes next, ms; 0 when there is none. A time of -1: no message.
    """

    message_queue: QueueBody
    consume_time_stamp: int = -1
    delay_time: int = 0
    max_time_stamp: int = -1
    min_time_stamp: int = -1


class ConsumeTimeSpans(Body):
    """The times of all queues of a topic."""

    consume_time_span_set: list[QueueTimeSpan] = []


class CorrectionOffsets(Body):
    """An offset by queue id."""

    correction_offsets: dict[int, int] = {}


class StatsItem(Body):
    """One statistic over one stretch of time: `sum`, `tps` a second, `avgpt` for each call."""

    avgpt: float = 0.0
    sum: int = 0
    tps: float = 0.0


class BrokerStatsData(Body):
    """One statistic over a minute, an hour, a day."""

    stats_day: StatsItem = msgspec.field(default_factory=StatsItem)
    stats_hour: StatsItem = msgspec.field(default_factory=StatsItem)
    stats_minute: StatsItem = msgspec.field(default_factory=StatsItem)


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
    """A reign in the log: from which log offset to which, bytes; the last one ends at 2^63 - 1."""

    end_offset: int
    epoch: int
    start_offset: int


class EpochEntryCache(Body):
    """The reigns that a log holds something of, oldest first; `max_offset`: where the log ends, bytes."""

    broker_id: int = 0
    broker_name: str = ""
    cluster_name: str = ""
    epoch_list: list[EpochEntry] = []
    max_offset: int = 0


class ConsumeStatsList(Body):
    """How far all groups of a broker are; `total_diff`: messages still to be consumed."""

    broker_addr: str = ""
    consume_stats_list: list[dict[str, list[ConsumeStats]]] = []
    total_diff: int = 0
    total_inflight_diff: int = 0


class QueueEntry(Body):
    """One entry of a queue: where its record lies in the log and how long it is, bytes."""

    physic_offset: int
    physic_size: int
    tags_code: int
    bit_map: str | None = None
    eval: bool = False
    extend_data_json: str | None = None
    msg: str | None = None


class QueueEntries(Body):
    """Entries of a queue, which begins and ends at these indexes; what a group wants of the topic."""

    filter_data: str | None = None
    max_queue_index: int = 0
    min_queue_index: int = 0
    queue_data: list[QueueEntry] = []
    subscription_data: SubscriptionData | None = None


class GroupForbidden(Body):
    """Whether a group may read a topic."""

    group: str
    readable: bool
    topic: str


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


@attrs.frozen
class BrokerLoad:
    """What a broker's counters say of it at a glance.

    `in_per_second`, `out_per_second`: messages over the last ten seconds, as it counts itself;
    `disk_percent`: how much of the log's disk is used. What is not told, or is no number, is 0.
    """

    version: str
    in_per_second: float
    out_per_second: float
    disk_percent: float


def broker_load(counters: Mapping[str, str]) -> BrokerLoad:
    """The load of the broker with these `counters`, Apache's included (RuntimeInfo, code 28)."""
    return BrokerLoad(
        counters.get("brokerVersionDesc", ""),
        round(_first_number(counters.get("putTps")), 1),
        round(_first_number(counters.get("getTransferredTps") or counters.get("getTransferedTps")), 1),
        round(_first_number(counters.get("commitLogDiskRatio")) * 100, 1),
    )


def _first_number(text: str | None) -> float:
    try:
        return float((text or "0").split(maxsplit=1)[0])
    except (ValueError, IndexError):
        return 0.0  # Apache's have no rates until ten seconds have passed


def told_log_bounds(counters: Mapping[str, str], address: str) -> tuple[int, int]:
    """Where the log of the broker at `address`, which has these `counters`, begins and ends, bytes.

    Raises `BadAnswer` where they do not say.
    """
    try:
        return int(counters["commitLogMinOffset"]), int(counters["commitLogMaxOffset"])
    except (KeyError, ValueError) as problem:
        raise BadAnswer(f"{address} does not say where its log begins and ends: {problem!r}") from None
