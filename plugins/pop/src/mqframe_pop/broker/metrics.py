"""What monitoring is shown of popped messages (PopMetricsManager.java)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from mqframe.core.measuring.family import Family, Labels, Metric, MetricKind, MetricTable, Row, one
from mqframe_pop.broker.revive import ReviveService
from mqframe_pop.broker.revive_log import QUEUES, ReviveLog

_STORED: Final = "PUT_OK"


def pop_families(revive_log: ReviveLog, revive: ReviveService) -> Sequence[Metric]:
    """Check points in memory, the revive log, and messages that were brought back."""
    table = revive_log.table
    return (
        one(
            "rocketmq_pop_checkpoint_buffer_size",
            MetricKind.GAUGE,
            "Pops of which messages are in flight.",
            len(table),
        ),
        one(
            "rocketmq_pop_offset_buffer_size",
            MetricKind.GAUGE,
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
        MetricKind.GAUGE,
        "Records of the revive log that are not read yet; messages, whatever its name says.",
        ("queue_id",),
    )
    latency = Family(
        "rocketmq_pop_revive_latency_milliseconds",
        MetricKind.GAUGE,
        "How long the first of them has waited.",
        ("queue_id",),
        max,
    )
    for queue_id in range(QUEUES):
        records, waited_ms = revive_log.behind(queue_id)
        lag.add(records, str(queue_id))
        latency.add(waited_ms, str(queue_id))
    return lag, latency


def _written(revive_log: ReviveLog) -> MetricTable:
    family = Family(
        "rocketmq_pop_revive_in_message_total",
        MetricKind.COUNTER,
        "Records written to the revive log.",
        ("consumer_group", "topic", "revive_message_type", "put_status"),
    )
    return MetricTable((family,), _stored(revive_log.written))


def _retried(revive: ReviveService) -> MetricTable:
    family = Family(
        "rocketmq_pop_revive_retry_messages_total",
        MetricKind.COUNTER,
        "Messages that nobody acknowledged in time, stored for another try.",
        ("consumer_group", "topic", "put_status"),
    )
    return MetricTable((family,), _stored(revive.retried))


async def _stored(counts: Mapping[Labels | None, int]) -> AsyncIterator[Row]:
    for key in tuple(counts):
        yield None if key is None else (*key, _STORED), (counts[key],)
