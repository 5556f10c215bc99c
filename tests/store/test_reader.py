"""A store directory, read from outside."""

from __future__ import annotations

from stores import as_listed

from mqframe.core.wire.loose_json import loads
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.reader import StoreReader


def test_consumer_offsets(recorded):
    root, manifest = recorded
    offsets = ConfigFile(root / "config" / "consumerOffset.json").load(lambda raw: loads(raw)["offsetTable"])
    for place, table in manifest["consumerOffsets"].items():
        assert {str(queue): offset for queue, offset in offsets[place].items()} == table


def test_reader_sees_the_same_as_the_store(recorded):
    root, manifest = recorded
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    reader = StoreReader(root)
    for row in manifest["queues"]:
        assert reader.queue_range(row["topic"], row["queueId"]) == (row["minOffset"], row["maxOffset"])
    low, high = reader.log_range()
    by_log = {m.commit_log_offset: as_listed(m) for m in reader.log_records(low, high)}
    by_queue = {
        m.commit_log_offset: as_listed(m)
        for topic in reader.topics()
        for queue_id in reader.queue_ids(topic)
        for m in reader.records(topic, queue_id, 0, 1 << 40)
    }
    assert by_log == by_queue
    assert len(by_log) == 502
    for row in manifest["stored"]:
        assert by_log[row["commitLogOffset"]] == row
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
