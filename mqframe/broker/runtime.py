"""Runtime information of the broker, with the counters of all its services (GET_BROKER_RUNTIME_INFO 28).

A put begins here when the bytes of its request were read, and ends with its answer: when it is as durable as
configured.

Source: AdminBrokerProcessor.java.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mqframe.broker.service import Processor
from mqframe.broker.tables.shared import Shared
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.requests.serving import Call, serves
from mqframe.core.storage.record import decode_record
from mqframe.core.wire.bodies import KVTable
from mqframe.log import get_logger

log: Final = get_logger("broker")
VERSION_TEXT: Final = "V5_3_3"
"""The protocol version by name, as operators' tools show it."""
THREAD_POOLS: Final = (
    "sendThreadPool", "pullThreadPool", "queryThreadPool", "litePullThreadPool", "ackThreadPool",
)  # fmt: skip
"""One loop serves all requests as they are read, so nothing waits in queues of threads."""
_NO_POOL: Final = 2**31 - 1
"""How many buffers are left where none are needed: messages go into the mapped file."""
_NO_TIMER: Final = {
    "timerReadBehind": "0",
    "timerOffsetBehind": "0",
    "timerCongestNum": "0",
    "timerEnqueueTps": "0.0",
    "timerDequeueTps": "0.0",
}


class RuntimeProcessor(Processor):
    """Shows what the broker does. `more`: counters of other parts."""

    def __init__(self, shared: Shared, more: Sequence[Callable[[], Mapping[str, str]]]) -> None:
        super().__init__(shared)
        self._whole_store = shared.store
        self._more = more

    @serves(GetBrokerRuntimeInfo)
    def runtime_info(self, fields: GetBrokerRuntimeInfo, call: Call) -> KVTable:
        statistics, store = self._statistics, self._store
        now_ms = self._clock.now_ms()
        put_rate, get_rate = statistics.rates(statistics.put), statistics.rates(statistics.get)
        put_bytes, puts = statistics.put_bytes, statistics.put.total
        usage = shutil.disk_usage(store.settings.directory)
        used = f"{usage.used / usage.total:.4f}"
        table = {
            "brokerVersionDesc": VERSION_TEXT,
            "brokerVersion": "479",
            "brokerActive": "true",
            "bootTimestamp": str(statistics.started_ms),
            "runtime": _duration(now_ms - statistics.started_ms),
            "putTps": put_rate,
            "putMessageTimesTotal": str(puts),
            "putMessageSizeTotal": str(put_bytes),
            "putMessageEntireTimeMax": f"{statistics.put_times.longest_ms:.0f}",
            "putMessageFailedTimes": str(statistics.put_times.failed),
            "putMessageDistributeTime": statistics.put_times.distribution(),
            "putLatency99": f"{statistics.put_times.quantile_ms(0.99):.2f}",
            "putLatency999": f"{statistics.put_times.quantile_ms(0.999):.2f}",
            "getMessageEntireTimeMax": f"{statistics.longest_get_ms:.0f}",
            "putMessageAverageSize": str(put_bytes / puts if puts else 0.0),
            "getFoundTps": statistics.rates(statistics.found),
            "getMissTps": statistics.rates(statistics.missed),
            "getTotalTps": statistics.rates(statistics.found, statistics.missed),
            "getTransferedTps": get_rate,
            "getTransferredTps": get_rate,
            "msgPutTotalTodayNow": str(statistics.put.total),
            "msgGetTotalTodayNow": str(statistics.get.total),
            "msgPutTotalTodayMorning": str(statistics.morning[0]),
            "msgGetTotalTodayMorning": str(statistics.morning[1]),
            "msgPutTotalYesterdayMorning": str(statistics.yesterday[0]),
            "msgGetTotalYesterdayMorning": str(statistics.yesterday[1]),
            "commitLogMinOffset": str(store.log.min_offset),
            "commitLogMaxOffset": str(store.log.max_offset),
            "commitLogDiskRatio": used,
            f"commitLogDiskRatio_{store.settings.directory / 'commitlog'}": used,
            "consumeQueueDiskRatio": used,
            "totalMemKBytes": str(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024),
            "commitLogDirCapacity": f"Total : {_size(usage.total)}, Free : {_size(usage.free)}.",
            "dispatchBehindBytes": str(max(0, store.log.max_offset - store.log.confirmed_offset)),
            "remainHowManyDataToFlush": _size(max(0, store.log.max_offset - store.log.flushed_offset)),
            "pageCacheLockTimeMills": "0",
            "dispatchMaxBuffer": "0",
            "remainTransientStoreBufferNumbs": str(_NO_POOL),
            "storeTrouble": self._whole_store.disk.trouble,
            "earliestMessageTimeStamp": str(self._earliest()),
            "startAcceptSendRequestTimeStamp": "0",
        }
        for name in THREAD_POOLS:
            table |= {
                f"{name}QueueSize": "0",
                f"{name}QueueCapacity": "0",
                f"{name}QueueHeadWaitTimeMills": "0",
            }
        table |= {"EndTransactionQueueSize": "0", "EndTransactionThreadPoolQueueCapacity": "0"}
        return KVTable(table=_NO_TIMER | self._counters() | table)

    def _counters(self) -> dict[str, str]:
        """Those of other parts; a part whose own fail shows none."""
        found: dict[str, str] = {}
        for counters in self._more:
            try:
                found |= {name: str(value) for name, value in counters().items()}
            except Exception:  # isolation boundary: operators are to see the others
                log.exception("counters failed", of=repr(counters))
        return found

    def _earliest(self) -> int:
        """Store time (ms) of the oldest record that is kept; -1 when there is none."""
        record = self._store.search.record_at(self._store.log.min_offset)
        return -1 if record is None else decode_record(record).store_timestamp


def _duration(milliseconds: int) -> str:
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
