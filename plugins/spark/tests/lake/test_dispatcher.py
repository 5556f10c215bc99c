import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lake_log import ALL, DAY, Log, Range, Written, stored
from mqframe_spark.lake.dispatcher import ParquetDispatcher, WorkerFailed
from mqframe_spark.lake.parquet_options import ParquetOptions
from mqframe_testing.conformance import DispatcherConformance

from mqframe import PluginManager
from mqframe.core.errors import SettingError
from mqframe.hooks.interfaces import Dispatcher


class TestParquetConformance(DispatcherConformance):
    def make(self) -> Dispatcher:
        return ParquetDispatcher(ParquetDispatcher.Options(roll_rows=4))

    def delivered(self) -> Sequence[int]:
        """The records of the suite have no id of their own, so their ids hold their offsets."""
        found = []
        for path in self.data_directory.glob("parquet/*/*/*.parquet"):
            found += [int(i[16:], 16) for i in pq.ParquetFile(path).read().column("msg_id").to_pylist()]
        assert len(found) == len(set(found))
        return found


def test_days_that_are_over_are_deleted(tmp_path, log) -> None:
    day_ms = 1_700_000_000_000
    written = Written(tmp_path, log, now_ms=lambda: day_ms, retention_days=1, roll_rows=1)
    written.take(0, 6)
    assert set(stored(tmp_path)) == {"orders/day=2023-11-14", "refunds/day=2023-11-14"}
    day_ms += 2 * DAY
    written.take(6, 12)
    assert set(stored(tmp_path)) == {"orders/day=2023-11-15", "refunds/day=2023-11-15"}
    assert not list(tmp_path.glob("parquet/*/day=2023-11-14"))
    # Nothing of them is written again, whatever is handed over.
    Written(tmp_path, log, now_ms=lambda: day_ms, retention_days=1, roll_rows=1).take(0, 12)
    assert set(stored(tmp_path)) == {"orders/day=2023-11-15", "refunds/day=2023-11-15"}


def test_records_with_ipv6_hosts_and_long_topics_are_told_apart(tmp_path, store) -> None:
    log = Log(store)
    v6 = bytes(range(16)) + bytes((0, 0, 1, 0))
    topic = "%RETRY%" + "g" * 125
    for number in range(8):
        hosts = {"born_host": v6} if number % 2 else {}
        log.add((topic, "orders")[number // 2 % 2], **hosts, **({"store_host": v6} if number % 3 else {}))
    written = Written(tmp_path, log, topics=(topic, "orders"))
    written.take(0, 8)
    written.finish()
    assert stored(tmp_path) == {
        f"{topic}/day=2023-11-14": [0, 1, 4, 5],
        "orders/day=2023-11-14": [2, 3, 6, 7],
    }


def workers() -> list[int]:
    """Children of this process that make Parquet files and are not dead."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = status.read_text().rpartition(")")[2].split()[:2]
            command = (status.parent / "cmdline").read_bytes()
            if int(parent) == os.getpid() and state != "Z" and b"parquet_worker" in command:
                found.append(int(status.parent.name))
    return found


def test_what_a_killed_worker_had_taken_in_is_wanted_again(tmp_path, log) -> None:
    dispatcher = ParquetDispatcher(ParquetOptions(path=tmp_path / "parquet"))
    dispatcher.start(log.store.folder, "broker-a")
    assert dispatcher.dispatch(Range(log, 0, 5)) == 0
    [worker] = workers()
    os.kill(worker, signal.SIGKILL)
    # What comes next is refused, so that the broker goes back to its cursor.
    with pytest.raises(WorkerFailed):
        dispatcher.dispatch(Range(log, 5, 12))
    if not workers():
        with pytest.raises(WorkerFailed, match="started anew"):
            dispatcher.dispatch(Range(log, 5, 12))
    dispatcher.dispatch(Range(log, 0, 12))
    dispatcher.stop()
    assert workers() == []
    assert stored(tmp_path) == ALL


def test_it_is_found_by_its_name(tmp_path) -> None:
    made = PluginManager().create(
        "dispatcher", "parquet", {"topics": "orders, refunds", "path": str(tmp_path)}
    )
    assert isinstance(made, ParquetDispatcher)
    with pytest.raises(SettingError, match=r"plugins\.parquet\.roll_rows = 0"):
        ParquetDispatcher.Options(roll_rows=0)


def test_an_idle_broker_deletes_what_is_over_and_keeps_its_cursor(tmp_path, log) -> None:
    Written(tmp_path, log, roll_rows=1).take(0, 12)
    assert stored(tmp_path) == ALL
    options = ParquetOptions(path=tmp_path / "parquet", retention_days=1)
    dispatcher = ParquetDispatcher(options)
    dispatcher.start(tmp_path, "broker-a")
    # The process knows nothing of what was durable before it: that stays what the broker keeps.
    assert dispatcher.idle() is None
    assert dispatcher.idle() is None
    [worker] = workers()
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(WorkerFailed):
        dispatcher.idle()
    if not workers():
        with pytest.raises(WorkerFailed, match="started anew"):
            dispatcher.idle()
    assert dispatcher.idle() is None
    dispatcher.stop()
    assert stored(tmp_path) == {}
