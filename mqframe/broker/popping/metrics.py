"""What monitoring is shown of popped messages (PopMetricsManager.java)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mqframe.broker.popping.revive import ReviveService
from mqframe.broker.popping.revive_log import ACK, BATCH_ACK, CHECK_POINT, QUEUES, ReviveLog
from mqframe.core.measuring.family import Family, Kind, one

_TYPES: Final = {CHECK_POINT: "CK", ACK: "ACK", BATCH_ACK: "ACK"}
_STORED: Final = "PUT_OK"


def pop_families(revive_log: ReviveLog, revive: ReviveService) -> Sequence[Family]:
    """Check points in memory, the revive log, and messages that were brought back."""
    table = revive_log.table
    return (
        one(
            "rocketmq_pop_checkpoint_buffer_size",
            Kind.GAUGE,
            "Pops of which messages are in flight.",
            len(table),
        ),
        one(
            "rocketmq_pop_offset_buffer_size",
            Kind.GAUGE,
            "Pops that hold back the offset of their group.",
            table.held_offsets,
        ),
        *_behind(revive_log),
        _written(revive_log),
        _retried(revive),
    )


def _behind(revive_log: ReviveLog) -> tuple[Family, Family]:
    lag = Family(
        "rocketmq_pop_revive_lag_milliseconds",
        Kind.GAUGE,
        "Records of the revive log that are not read yet; messages, whatever its name says.",
        ("queue_id",),
    )
    latency = Family(
        "rocketmq_pop_revive_latency_milliseconds",
        Kind.GAUGE,
        "How long the first of them has waited.",
        ("queue_id",),
        max,
    )
    for queue_id in range(QUEUES):
        records, waited_ms = revive_log.behind(queue_id)
        lag.add(records, str(queue_id))
        latency.add(waited_ms, str(queue_id))
    return lag, latency


def _written(revive_log: ReviveLog) -> Family:
    family = Family(
        "rocketmq_pop_revive_in_message_total",
        Kind.COUNTER,
        "Records written to the revive log.",
        ("consumer_group", "topic", "revive_message_type", "put_status"),
    )
    totals: dict[tuple[str, str, str], int] = {}
    for (group, topic, tag), count in revive_log.written.items():
        key = group, topic, _TYPES[tag]
        totals[key] = totals.get(key, 0) + count
    for key, count in totals.items():
        family.add(count, *key, _STORED)
    return family


def _retried(revive: ReviveService) -> Family:
    family = Family(
        "rocketmq_pop_revive_retry_messages_total",
        Kind.COUNTER,
        "Messages that nobody acknowledged in time, stored for another try.",
        ("consumer_group", "topic", "put_status"),
    )
    for (group, topic), count in revive.retried.items():
        family.add(count, group, topic, _STORED)
    return family
