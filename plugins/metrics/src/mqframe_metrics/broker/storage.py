"""The store as metrics: room, what is not on disk or not listed yet, age; dispatchers that follow the log.

Source: DefaultStoreMetricsManager.java.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Final

from mqframe.core.measuring.family import Family, MetricKind
from mqframe.core.storage.record import decode_record
from mqframe.hooks.interfaces import BrokerMeasures

_LABELS: Final = ("storage_type", "storage_medium")
_VALUES: Final = ("local", "disk")


class StorageMetrics:
    """Numbers of the store of one broker."""

    def __init__(self, measures: BrokerMeasures) -> None:
        self._stored = measures.port.store
        self._store = measures.store
        self._clock = measures.port.clock
        self._oldest = (-1, 0)  # log offset of the oldest record, and when it was stored, ms

    def families(self) -> Iterator[Family]:
        """All of them. The size is that of the file system's used part, as the reference has it."""
        store, log = self._store, self._stored.log
        usage = shutil.disk_usage(store.directory)
        oldest_ms = self._oldest_ms()
        numbers: list[tuple[str, str, float]] = [
            ("rocketmq_storage_size_bytes", "Used bytes of the file system of the store.", usage.used),
            (
                "rocketmq_storage_flush_behind_bytes",
                "Bytes of the log that are not known to be on disk.",
                max(0, log.max_offset - store.flushed_offset),
            ),
            (
                "rocketmq_storage_dispatch_behind_bytes",
                "Bytes of the log that consumers may not see yet.",
                max(0, log.max_offset - store.confirmed_offset),
            ),
            ("mqframe_storage_capacity_bytes", "Size of the file system of the store.", usage.total),
            (
                "mqframe_storage_log_bytes",
                "Bytes of messages that are kept.",
                log.max_offset - log.min_offset,
            ),
            (
                "mqframe_storage_refusing",
                "1 while no message is taken, else 0.",
                store.refuses,
            ),
            (
                "mqframe_storage_distrusted",
                "1 when the disk may lack what it was to hold.",
                store.distrusted,
            ),
        ]
        if oldest_ms:
            age = max(0, self._clock.now_ms() - oldest_ms)
            numbers.append(
                ("rocketmq_storage_message_reserve_time_milliseconds", "Age of the oldest message.", age)
            )
        for name, meaning, value in numbers:
            family = Family(name, MetricKind.GAUGE, meaning, _LABELS)
            family.add(float(value), *_VALUES)
            yield family

    def _oldest_ms(self) -> int:
        """When the oldest record was stored, ms; 0 where there is none. It is read once: it may be cold."""
        start = self._stored.log.min_offset
        if self._oldest[0] != start:
            record = self._stored.search.record_at(start)
            if record is None:
                return 0
            self._oldest = start, decode_record(record).store_timestamp
        return self._oldest[1]


def dispatchers(measures: BrokerMeasures) -> Iterator[Family]:
    """How far each dispatcher that follows the log is behind."""
    sizes = Family(
        "mqframe_dispatcher_behind_bytes", MetricKind.GAUGE, "Bytes not dispatched yet.", ("dispatcher",)
    )
    ages = Family(
        "mqframe_dispatcher_latency_milliseconds",
        MetricKind.GAUGE,
        "How long the first message that is not dispatched has waited.",
        ("dispatcher",),
        max,
    )
    now = measures.port.clock.now_ms()
    for lag in measures.store.lags():
        sizes.add(lag.size_bytes, lag.name)
        ages.add(lag.age_ms(now), lag.name)
    yield from (sizes, ages)
