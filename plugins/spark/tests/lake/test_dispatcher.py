import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lake_log import ALL, DAY, Log, Range, Time, Written, stored
from mqframe_spark.durable_file import STORE_ID_FILE
from mqframe_spark.lake.dispatcher import ParquetDispatcher, WorkerFailed
from mqframe_spark.lake.parquet_files import ParquetFolder
from mqframe_spark.lake.parquet_options import ParquetOptions

from mqframe import PluginManager
from mqframe.core.errors import SettingError
from mqframe.hooks.interfaces import Dispatcher
from mqframe.testing.conformance import DispatcherConformance


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


def test_topics_and_days_have_folders_and_names_tell_the_stretch(tmp_path, log) -> None:
    dispatcher = Written(tmp_path, log)
    assert dispatcher.take(0, 12) == 0
    assert stored(tmp_path) == {}
    dispatcher.finish()
    assert stored(tmp_path) == ALL
    store = (tmp_path / STORE_ID_FILE).read_text().strip()
    (path,) = tmp_path.glob("parquet/orders/day=2023-11-14/*")
    assert path.name == f"broker-a-{store}-{log.ends[0]:020d}-{log.ends[5]:020d}.parquet"
    told = pq.ParquetFile(path).schema_arrow.metadata
    assert told[b"mqframe.topic"] == b"orders"
    assert told[b"mqframe.end"] == str(log.ends[5]).encode()


def test_only_chosen_topics_are_written(tmp_path, log) -> None:
    dispatcher = Written(tmp_path, log, topics=("%RETRY%g",))
    dispatcher.take(0, 12)
    dispatcher.finish()
    assert stored(tmp_path) == {"%RETRY%g/day=2023-11-14": [3], "%RETRY%g/day=2023-11-15": [7, 11]}


def test_files_are_rolled_by_rows(tmp_path, log) -> None:
    dispatcher = Written(tmp_path, log, roll_rows=2)
    assert dispatcher.take(0, 6) == log.ends[6]
    assert stored(tmp_path) == {"orders/day=2023-11-14": [0, 4], "refunds/day=2023-11-14": [1, 5]}


def test_files_are_rolled_by_bytes(tmp_path, log) -> None:
    dispatcher = Written(tmp_path, log, roll_bytes=1)
    assert dispatcher.take(0, 12) == log.ends[12]
    assert len(list(tmp_path.glob("parquet/orders/*/*.parquet"))) == 3
    assert stored(tmp_path) == ALL


def test_files_are_rolled_by_time_and_the_cursor_waits_for_them(tmp_path, log) -> None:
    clock = Time()
    dispatcher = Written(tmp_path, log, clock)
    assert dispatcher.roll() == 0
    assert dispatcher.take(0, 1) == 0
    clock.now = 30
    assert dispatcher.take(1, 3) == 0
    clock.now = 60
    assert dispatcher.roll() == log.ends[1]
    assert stored(tmp_path) == {"orders/day=2023-11-14": [0]}
    clock.now = 90
    assert dispatcher.roll() == log.ends[3] == dispatcher.roll()


def test_memory_is_bounded(tmp_path, log) -> None:
    dispatcher = Written(tmp_path, log, buffered_bytes_max=1)
    dispatcher.take(0, 6)
    assert stored(tmp_path) == {"orders/day=2023-11-14": [0, 4], "refunds/day=2023-11-14": [1, 5]}


@pytest.mark.parametrize("done", range(5))
@pytest.mark.parametrize("after_rename", [False, True])
def test_a_crash_while_publishing_leaves_neither_gap_nor_repetition(
    tmp_path, log, monkeypatch, done, after_rename
) -> None:
    """The process dies while the file number `done` is published, before or just after it has its name."""

    class Died(BaseException):
        pass

    publish = ParquetFolder.publish
    count = 0

    def dying(folder, *arguments):
        nonlocal count
        if count == done:
            if after_rename:
                publish(folder, *arguments)
            raise Died
        count += 1
        return publish(folder, *arguments)

    dispatcher = Written(tmp_path, log, roll_rows=1)
    cursor = dispatcher.take(0, 1)
    with monkeypatch.context() as broken:
        broken.setattr(ParquetFolder, "publish", dying)
        with pytest.raises(Died):
            dispatcher.take(1, 12)
    again = Written(tmp_path, log, roll_rows=1)
    # The broker hands everything over again from its cursor on, which may lag behind.
    first = 0 if done % 2 else log.ends.index(cursor)
    assert again.take(first, 12) == log.ends[12]
    assert stored(tmp_path) == ALL


def test_a_half_written_file_is_cleared_away(tmp_path, log, monkeypatch) -> None:
    dispatcher = Written(tmp_path, log, roll_rows=1)
    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(OSError, match="No space left"):
            dispatcher.take(0, 1)
    assert [path.name[0] for path in tmp_path.glob("parquet/*/*/*")] == ["."]
    assert stored(tmp_path) == {}
    Written(tmp_path, log)
    assert list(tmp_path.glob("parquet/*/*/*")) == []


def test_a_full_disk_is_tried_again_without_gap_or_repetition(tmp_path, log, monkeypatch) -> None:
    dispatcher = Written(tmp_path, log, roll_rows=1)
    with monkeypatch.context() as broken:
        broken.setattr(ParquetFolder, "publish", lambda *a: (_ for _ in ()).throw(OSError(28, "full")))
        for _ in range(2):
            with pytest.raises(OSError, match="full"):
                dispatcher.take(0, 12)
    assert dispatcher.take(0, 12) == log.ends[12]
    assert stored(tmp_path) == ALL


def test_a_store_that_was_made_anew_is_not_taken_for_the_old_one(tmp_path, log) -> None:
    kept = tmp_path / "kept"
    for name in ("old", "new"):
        dispatcher = Written(tmp_path / name, log, path=kept)
        dispatcher.take(0, 1)
        dispatcher.finish()
    assert len(list(kept.glob("orders/*/*.parquet"))) == 2


def test_a_damaged_body_does_not_hold_up_the_others(tmp_path, store) -> None:
    log = Log(store)
    log.add("orders", body=b"no zlib", sys_flag=0x301)
    log.add("orders", body=b"good")
    dispatcher = Written(tmp_path, log)
    dispatcher.take(0, 2)
    dispatcher.finish()
    (path,) = tmp_path.glob("parquet/*/*/*.parquet")
    assert pq.ParquetFile(path).read().column("body").to_pylist() == [None, b"good"]


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
