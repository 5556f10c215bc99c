"""Reading straight from store files, without Spark."""

import hashlib
import json
import lzma
import shutil
import struct
import tarfile
from pathlib import Path

import pytest
from mqframe_spark.source import file_reading
from mqframe_spark.source.bounds import Bound, parse_bound
from mqframe_spark.source.file_origin import FileOrigin
from mqframe_spark.source.file_reading import FileSpanReader
from mqframe_spark.source.options import SourceOptions, Store
from mqframe_spark.source.planning import Planner
from mqframe_spark.source.positions import DataLoss, Span

from mqframe.core.errors import FixError, SettingError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.storage.record import RecordError

RECORDED = Path(__file__).parents[4] / "tests" / "data" / "store"


def options(folder: Path, **change) -> SourceOptions:
    return SourceOptions(**{"path": (Store("a", folder),), "topics": ("t",), **change})


def read(chosen: SourceOptions, queue_id: int, start: int, end: int, topic: str = "t") -> list[dict]:
    span = Span(MessageQueue(topic, "a", queue_id), start, end)
    return [row for batch in FileSpanReader(chosen, span).batches() for row in batch.to_pylist()]


def planned(chosen: SourceOptions) -> list[tuple[int, int, int]]:
    return [
        (span.queue.queue_id, span.start, span.end) for span in Planner(chosen, FileOrigin(chosen)).batch()
    ]


@pytest.mark.parametrize(("start", "end"), [(0, 95), (3, 4), (9, 11), (10, 20), (94, 95), (7, 7)])
def test_exactly_what_was_asked_for_is_read(store, start, end) -> None:
    for number in range(95):
        store.add(queue_id=0)
        store.add(queue_id=1, body=b"another %d" % number)
    rows = read(options(store.folder), 0, start, end)
    assert [(row["queue_offset"], row["body"]) for row in rows] == [
        (n, b"body %d" % n) for n in range(start, end)
    ]


@pytest.mark.parametrize("stretch", [0, 1 << 20])
def test_neighbours_are_read_and_records_that_stand_alone_are_mapped(store, monkeypatch, stretch) -> None:
    monkeypatch.setattr(file_reading, "STRETCH_BYTES_MIN", stretch)
    for number in range(60):
        store.add()
        if number % 7 == 0:
            store.add(queue_id=1, body=b"of another queue")
    rows = read(options(store.folder), 0, 2, 60)
    assert [(row["queue_offset"], row["body"]) for row in rows] == [(n, b"body %d" % n) for n in range(2, 60)]
    [newest] = sorted((store.folder / "commitlog").iterdir())[-1:]
    with newest.open("r+b") as log:
        log.truncate(store.end % store.LOG_BYTES - 10)
    with pytest.raises(RecordError, match="the store is damaged there"):
        read(options(store.folder), 0, 2, 60)


@pytest.mark.parametrize("limit", ["BATCH_ROWS_MAX", "BATCH_BYTES_MAX"])
def test_batches_are_bounded(store, monkeypatch, limit) -> None:
    monkeypatch.setattr(file_reading, limit, {"BATCH_ROWS_MAX": 4, "BATCH_BYTES_MAX": 600}[limit])
    for _ in range(20):
        store.add()
    batches = list(FileSpanReader(options(store.folder), Span(MessageQueue("t", "a", 0), 0, 20)).batches())
    assert max(batch.num_rows for batch in batches) <= 5
    assert [n for batch in batches for n in batch.column("queue_offset").to_pylist()] == list(range(20))


def test_tags_choose_by_hash_and_by_text(store) -> None:
    # "Aa" and "BB" have the same hash.
    for tag in ("Aa", "BB", "c", "Aa", "d"):
        store.add(tag=tag)
    chosen = options(store.folder, tags="Aa || d", columns=("queue_offset",))
    assert read(chosen, 0, 0, 5) == [{"queue_offset": n} for n in (0, 3, 4)]


def test_a_plan_covers_all_queues_and_splits_long_ones(store) -> None:
    for queue_id, count in ((0, 12), (1, 3), (7, 1)):
        for _ in range(count):
            store.add(queue_id=queue_id)
    assert planned(options(store.folder)) == [(0, 0, 12), (1, 0, 3), (7, 0, 1)]
    assert planned(options(store.folder, min_partitions=4)) == [
        (0, 0, 4),
        (0, 4, 8),
        (0, 8, 12),
        (1, 0, 3),
        (7, 0, 1),
    ]
    bounds = {
        "starting_offsets": parse_bound('{"t": {"a/0": 5}}'),
        "ending_offsets": parse_bound('{"t": {"a/0": 9, "a/7": -2}}'),
    }
    assert planned(options(store.folder, **bounds)) == [(0, 5, 9), (1, 0, 3)]
    early = Bound("time", timestamp_ms=1_700_000_001_500)
    assert planned(options(store.folder, starting_timestamp=early)) == [
        (0, 2, 12), (1, 2, 3),
    ]  # fmt: skip


def test_a_group_s_saved_progress_is_where_reading_begins(store) -> None:
    for _ in range(6):
        store.add()
    config = store.folder / "config"
    config.mkdir()
    (config / "consumerOffset.json").write_text('{"offsetTable":{"t@g":{0:4}}}')
    assert planned(options(store.folder, starting_offsets=parse_bound("group:g"))) == [(0, 4, 6)]
    other = options(store.folder, starting_offsets=parse_bound("group:other"))
    with pytest.raises(SettingError, match=r"group other is not known: .* those with progress: g$"):
        planned(other)
    (config / "subscriptionGroup.json").write_text(
        '{"subscriptionGroupTable":{"other":{"groupName":"other"}}}'
    )
    assert planned(other) == [(0, 0, 6)]


def test_patterns_leave_the_system_s_topics_out(store) -> None:
    for topic in ("orders", "orders_eu", "audit", "SCHEDULE_TOPIC_XXXX", "%RETRY%orders"):
        store.add(topic)
    chosen = options(store.folder, topics=(), topic_pattern=".*")
    assert {queue.topic for queue in FileOrigin(chosen).queues()} == {"orders", "orders_eu", "audit"}
    with pytest.raises(FixError, match="option topic = 'none': no queue of it is in"):
        FileOrigin(options(store.folder, topics=("none", "orders"))).queues()


def test_removed_log_files_are_noticed_or_skipped(store) -> None:
    for _ in range(95):
        store.add()
    early = options(store.folder, starting_offsets=parse_bound('{"t": {"a/0": 0}}'))
    (store.folder / "commitlog" / f"{0:020d}").unlink()
    low, _ = FileOrigin(early).beginnings([MessageQueue("t", "a", 0)]).popitem()[1], None
    assert low > 0
    with pytest.raises(DataLoss, match=f"offset 0 is needed, but the oldest that is kept is {low}"):
        planned(early)
    lax = options(store.folder, starting_offsets=early.starting, fail_on_data_loss=False)
    assert planned(lax) == [(0, low, 95)]
    # What goes between planning and reading.
    with pytest.raises(DataLoss, match="offset 0 is needed"):
        read(options(store.folder), 0, 0, 95)
    assert [row["queue_offset"] for row in read(lax, 0, 0, 95)] == list(range(low, 95))


def test_removed_queue_files_are_noticed_or_skipped(store) -> None:
    for _ in range(25):
        store.add()
    (store.folder / "consumequeue" / "t" / "0" / f"{0:020d}").unlink()
    with pytest.raises(DataLoss, match="offset 3 is needed, but the oldest that is kept is 10"):
        read(options(store.folder), 0, 3, 25)
    lax = options(store.folder, fail_on_data_loss=False)
    assert [row["queue_offset"] for row in read(lax, 0, 3, 25)] == list(range(10, 25))


def entry(store, offset: int, content: bytes) -> None:
    path = store.folder / "consumequeue" / "t" / "0" / f"{0:020d}"
    raw = bytearray(path.read_bytes())
    raw[offset * 20 : offset * 20 + 20] = content
    path.write_bytes(raw)


def test_what_a_broker_has_set_aside_is_noticed_or_skipped(store) -> None:
    for _ in range(9):
        store.add()
    for offset in (3, 4, 8):
        entry(store, offset, struct.pack(">qiq", 0, 0x7FFFFFFF, 0))
    with pytest.raises(DataLoss, match="offset 3 is needed, but the oldest that is kept is 5"):
        read(options(store.folder), 0, 0, 9)
    lax = options(store.folder, fail_on_data_loss=False)
    assert [row["queue_offset"] for row in read(lax, 0, 0, 9)] == [0, 1, 2, 5, 6, 7]
    assert [row["queue_offset"] for row in read(lax, 0, 4, 6)] == [5]


def test_an_entry_that_names_another_record_of_the_queue_is_told(store) -> None:
    for _ in range(6):
        store.add()
    path = store.folder / "consumequeue" / "t" / "0" / f"{0:020d}"
    entry(store, 2, path.read_bytes()[80:100])
    with pytest.raises(RecordError, match="is another one than its queue says"):
        read(options(store.folder), 0, 0, 6)


def test_a_folder_that_offsets_name_must_be_there(store) -> None:
    store.add()
    with pytest.raises(SettingError, match="topic t has no queue b/0"):
        planned(options(store.folder, starting_offsets=parse_bound('{"t": {"b/0": 0}}')))


@pytest.mark.parametrize("name", ["clean", "killed"])
def test_apache_s_store_reads_the_same(tmp_path, name) -> None:
    archive = tmp_path / "store.tar"
    archive.write_bytes(lzma.decompress((RECORDED / f"{name}.tar.xz").read_bytes()))
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    [commit_log] = (tmp_path / "unpacked").rglob("commitlog")
    manifest = json.loads(lzma.decompress((RECORDED / f"{name}.manifest.json.xz").read_bytes()))
    stored = manifest["stored"]
    assert stored
    topics = sorted({message["topic"] for message in stored})
    chosen = SourceOptions(path=(Store("a", commit_log.parent),), topics=tuple(topics))
    rows = {}
    for span in Planner(chosen, FileOrigin(chosen)).batch():
        for batch in FileSpanReader(chosen, span).batches():
            for row in batch.to_pylist():
                rows[row["topic"], row["queue_id"], row["queue_offset"]] = row
    for message in stored:
        row = rows.pop((message["topic"], message["queueId"], message["queueOffset"]))
        assert row["commitlog_offset"] == message["commitLogOffset"]
        assert hashlib.sha256(row["body"]).hexdigest() == message["bodySha256"]
        assert (row["msg_id"], row["flag"]) == (message["msgId"], message["flag"])
        assert round(row["store_timestamp"].timestamp() * 1000) == message["storeTimestamp"]
        assert dict(row["properties"]) == message["properties"]
    shutil.rmtree(tmp_path / "unpacked")
