from collections.abc import Sequence
from pathlib import Path

import attrs
import pyarrow.parquet as pq
import pytest
from mqframe_spark.dispatcher import ParquetDispatcher
from mqframe_spark.parquet_files import STORE_ID_FILE, ParquetFolder

from mqframe import PluginManager
from mqframe.core.errors import SettingError
from mqframe.core.message import ReceivedMessage
from mqframe.hooks.interfaces import Dispatcher
from mqframe.testing.conformance import DispatcherConformance

DAY = 86_400_000


@attrs.frozen
class Stretch:
    """A stretch of a log that is a list."""

    messages: Sequence[ReceivedMessage]
    start: int
    end: int
    commit_log_directory: Path = Path()
    commit_log_file_bytes: int = 0

    def records(self):
        return iter(self.messages)


class Log:
    """Messages one after the other, from the commit-log offset 0 on."""

    def __init__(self, make) -> None:
        self._make = make
        self.messages: list[ReceivedMessage] = []
        self.ends = [0]

    def add(self, topic: str, day: int = 0, **change) -> None:
        stamp = 1_700_000_000_000 + day * DAY + len(self.messages)
        offset = len(self.messages)
        made = self._make(offset, topic=topic, position=self.ends[-1], store_timestamp=stamp, **change)
        self.messages.append(made)
        self.ends.append(self.ends[-1] + made.store_size)

    def stretch(self, first: int, last: int) -> Stretch:
        return Stretch(self.messages[first:last], self.ends[first], self.ends[last])


class Time:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def log(message) -> Log:
    made = Log(message)
    for i in range(12):
        made.add(("orders", "refunds", "SCHEDULE_TOPIC_XXXX", "%RETRY%g")[i % 4], day=i // 6)
    return made


def make(root: Path, clock: Time | None = None, **options) -> ParquetDispatcher:
    dispatcher = ParquetDispatcher(
        ParquetDispatcher.Options(**{"roll_seconds": 60.0, **options}), monotonic=clock or Time()
    )
    root.mkdir(exist_ok=True)
    assert dispatcher.start(root, "broker-a") is None
    return dispatcher


def stored(root: Path) -> dict[str, list[int]]:
    """Queue offsets by topic and day, in the order of files and rows."""
    found: dict[str, list[int]] = {}
    for path in sorted(root.glob("parquet/*/*/*.parquet")):
        key = f"{path.parent.parent.name}/{path.parent.name}"
        rows = pq.ParquetFile(path).read(columns=["queue_offset"])
        found.setdefault(key, []).extend(rows.column(0).to_pylist())
    return found


ALL = {
    "orders/day=2023-11-14": [0, 4],
    "orders/day=2023-11-15": [8],
    "refunds/day=2023-11-14": [1, 5],
    "refunds/day=2023-11-15": [9],
}


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
    dispatcher = make(tmp_path)
    assert dispatcher.dispatch(log.stretch(0, 12)) == 0
    assert stored(tmp_path) == {}
    dispatcher.stop()
    assert stored(tmp_path) == ALL
    store = (tmp_path / STORE_ID_FILE).read_text().strip()
    (path,) = tmp_path.glob("parquet/orders/day=2023-11-14/*")
    assert path.name == f"broker-a-{store}-{log.ends[0]:020d}-{log.ends[5]:020d}.parquet"
    told = pq.ParquetFile(path).schema_arrow.metadata
    assert told[b"mqframe.topic"] == b"orders"
    assert told[b"mqframe.end"] == str(log.ends[5]).encode()


def test_only_chosen_topics_are_written(tmp_path, log) -> None:
    dispatcher = make(tmp_path, topics=("%RETRY%g",))
    dispatcher.dispatch(log.stretch(0, 12))
    dispatcher.stop()
    assert stored(tmp_path) == {"%RETRY%g/day=2023-11-14": [3], "%RETRY%g/day=2023-11-15": [7, 11]}


def test_files_are_rolled_by_rows(tmp_path, log) -> None:
    dispatcher = make(tmp_path, roll_rows=2)
    assert dispatcher.dispatch(log.stretch(0, 6)) == log.ends[6]
    assert stored(tmp_path) == {"orders/day=2023-11-14": [0, 4], "refunds/day=2023-11-14": [1, 5]}


def test_files_are_rolled_by_bytes(tmp_path, log) -> None:
    dispatcher = make(tmp_path, roll_bytes=1)
    assert dispatcher.dispatch(log.stretch(0, 12)) == log.ends[12]
    assert len(list(tmp_path.glob("parquet/orders/*/*.parquet"))) == 3
    assert stored(tmp_path) == ALL


def test_files_are_rolled_by_time_and_the_cursor_waits_for_them(tmp_path, log) -> None:
    clock = Time()
    dispatcher = make(tmp_path, clock)
    assert dispatcher.idle() is None
    assert dispatcher.dispatch(log.stretch(0, 1)) == 0
    clock.now = 30
    assert dispatcher.dispatch(log.stretch(1, 3)) == 0
    clock.now = 60
    assert dispatcher.idle() == log.ends[1]
    assert stored(tmp_path) == {"orders/day=2023-11-14": [0]}
    clock.now = 90
    assert dispatcher.idle() == log.ends[3]
    assert dispatcher.idle() is None


def test_memory_is_bounded(tmp_path, log) -> None:
    dispatcher = make(tmp_path, buffered_bytes_max=1)
    dispatcher.dispatch(log.stretch(0, 6))
    assert stored(tmp_path) == {"orders/day=2023-11-14": [0, 4], "refunds/day=2023-11-14": [1]}


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

    dispatcher = make(tmp_path, roll_rows=1)
    cursor = dispatcher.dispatch(log.stretch(0, 1))
    with monkeypatch.context() as broken:
        broken.setattr(ParquetFolder, "publish", dying)
        with pytest.raises(Died):
            dispatcher.dispatch(log.stretch(1, 12))
    again = make(tmp_path, roll_rows=1)
    # The broker hands everything over again from its cursor on, which may lag behind.
    first = 0 if done % 2 else log.ends.index(cursor)
    assert again.dispatch(log.stretch(first, 12)) == log.ends[12]
    assert stored(tmp_path) == ALL


def test_a_half_written_file_is_cleared_away(tmp_path, log, monkeypatch) -> None:
    dispatcher = make(tmp_path, roll_rows=1)
    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(OSError, match="No space left"):
            dispatcher.dispatch(log.stretch(0, 1))
    assert [path.name[0] for path in tmp_path.glob("parquet/*/*/*")] == ["."]
    assert stored(tmp_path) == {}
    make(tmp_path)
    assert list(tmp_path.glob("parquet/*/*/*")) == []


def test_a_full_disk_is_tried_again_without_gap_or_repetition(tmp_path, log, monkeypatch) -> None:
    dispatcher = make(tmp_path, roll_rows=1)
    with monkeypatch.context() as broken:
        broken.setattr(ParquetFolder, "publish", lambda *a: (_ for _ in ()).throw(OSError(28, "full")))
        for _ in range(2):
            with pytest.raises(OSError, match="full"):
                dispatcher.dispatch(log.stretch(0, 12))
    assert dispatcher.dispatch(log.stretch(0, 12)) == log.ends[12]
    assert stored(tmp_path) == ALL


def test_a_store_that_was_made_anew_is_not_taken_for_the_old_one(tmp_path, log) -> None:
    kept = tmp_path / "kept"
    for name in ("old", "new"):
        dispatcher = make(tmp_path / name, path=kept)
        dispatcher.dispatch(log.stretch(0, 1))
        dispatcher.stop()
    assert len(list(kept.glob("orders/*/*.parquet"))) == 2


def test_a_damaged_body_does_not_hold_up_the_others(tmp_path, message) -> None:
    log = Log(message)
    log.add("orders", body=b"no zlib", sys_flag=0x301)
    log.add("orders", body=b"good")
    dispatcher = make(tmp_path)
    dispatcher.dispatch(log.stretch(0, 2))
    dispatcher.stop()
    (path,) = tmp_path.glob("parquet/*/*/*.parquet")
    assert pq.ParquetFile(path).read().column("body").to_pylist() == [None, b"good"]


def test_it_is_found_by_its_name(tmp_path) -> None:
    made = PluginManager().create(
        "dispatcher", "parquet", {"topics": "orders, refunds", "path": str(tmp_path)}
    )
    assert isinstance(made, ParquetDispatcher)
    with pytest.raises(SettingError, match=r"plugins\.parquet\.roll_rows = 0"):
        ParquetDispatcher.Options(roll_rows=0)
