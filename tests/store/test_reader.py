"""A store directory, read from outside."""

from __future__ import annotations

from itertools import pairwise

import pytest
from stores import all_records, as_listed

from mqframe.core.storage.record import RecordError
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
    read = {m.commit_log_offset: m for m in all_records(reader)}
    assert len(read) == 502
    for row in manifest["stored"]:
        assert as_listed(read[row["commitLogOffset"]]) == row
    # The queues name every byte of the log, but for the blank ends of its files.
    low, high = reader.log_range()
    places = sorted((at, at + message.store_size) for at, message in read.items())
    files = {start for start, _, _ in reader.log_files()}
    assert (places[0][0], places[-1][1]) == (low, high)
    assert all(end == after or after in files for (_, end), (after, _) in pairwise(places))
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def flip(path, at):
    raw = bytearray(path.read_bytes())
    raw[at] ^= 0x10
    path.write_bytes(raw)


@pytest.mark.parametrize("byte", [6, 11, 8], ids=["place", "size", "sign of the size"])
def test_an_entry_that_does_not_name_its_record_is_told(opened, message, byte):
    store = opened()
    for number in range(5):
        store.writes.put(message(body=b"%d" % number))
    store.dispatch.now()
    reader = StoreReader(store.settings.directory)
    assert [m.body for m in reader.records("t", 0, 0, 5)] == [b"0", b"1", b"2", b"3", b"4"]
    flip(reader.queue_files("t", 0)[0][1], 2 * 20 + byte)
    read = reader.records("t", 0, 0, 5)
    assert [next(read).body, next(read).body] == [b"0", b"1"]
    with pytest.raises(RecordError, match="offset 2 of queue 0 of t"):
        next(read)


def test_a_damaged_record_is_told(opened, message):
    store = opened()
    places = [store.writes.put(message(body=b"body %d" % number)) for number in range(3)]
    store.dispatch.now()
    reader = StoreReader(store.settings.directory)
    damaged = places[1].commit_log_offset
    flip(reader.log_files()[0][1], reader.log_files()[0][1].read_bytes().index(b"body 1") + 3)
    read = reader.records("t", 0, 0, 3)
    assert next(read).body == b"body 0"
    with pytest.raises(RecordError, match=f"offset {damaged} is damaged"):
        next(read)
