"""Single places of the files, decoded."""

from __future__ import annotations

import pytest
import small_store
from mqframe_admin.rules.message_rows import body_of
from mqframe_store_tools.checking.decoding import checkpoints, index_entries, queue_entry, record_at

from mqframe.core.errors import SettingError
from mqframe.store.files.layout import Layout

SIZES = small_store.INDEX.slots, small_store.INDEX.entries


@pytest.fixture
def layout(tmp_path) -> Layout:
    small_store.fill(tmp_path / "store")
    return Layout(tmp_path / "store")


def test_a_record_by_way_of_its_queue_entry(layout) -> None:
    entry = queue_entry(layout, "t", 1, 25)
    assert (entry["file"], entry["byte"], entry["kind"]) == (f"consumequeue/t/1/{400:020d}", 100, "entry")
    row = record_at(layout, entry["commit_log_offset"])
    assert (row["kind"], row["sound"], row["queue_offset"]) == ("record", True, 25)
    assert (row["body"], row["body_encoding"]) == ("51:" * 60, "text")
    assert row["keys"] == ["k51", "all"]


def test_what_is_no_record(layout) -> None:
    assert record_at(layout, 3)["kind"] == "no record"
    ends = [record_at(layout, offset)["kind"] for offset in range(7000, 8190)]
    assert ends.count("unused end of the file") == 1
    with pytest.raises(SettingError, match="files go from 0 to 24576"):
        record_at(layout, 1 << 40)


def test_places_that_are_empty(layout) -> None:
    assert queue_entry(layout, "t", 1, 35)["kind"] == "nothing yet"
    for topic, offset in (("t", 1000), ("none", 0)):
        with pytest.raises(SettingError, match="has no file with offset"):
            queue_entry(layout, topic, 1, offset)


def test_a_key_in_all_index_files(layout) -> None:
    rows = list(index_entries(layout, SIZES, "t", "all"))
    assert len(rows) == small_store.COUNT
    offsets = [row["commit_log_offset"] for row in rows]
    assert offsets == sorted(offsets, reverse=True)
    (one,) = index_entries(layout, SIZES, "t", "k7")
    assert record_at(layout, one["commit_log_offset"])["keys"] == ["k7", "all"]
    assert list(index_entries(layout, SIZES, "t", "none")) == []


def test_checkpoints(layout) -> None:
    rows = {(row["file"], row["what"]): row["value"] for row in checkpoints(layout)}
    assert rows["checkpoint", "log"] == 1_700_000_059_000
    assert rows["queue-ends", "orderly"] is True
    assert rows["queue-ends", "end of queue 1 of t"] == 30


def test_bodies_are_marked() -> None:
    assert body_of("é".encode()) == {"body": "é", "body_encoding": "text"}
    assert body_of(b"\xff") == {"body": "/w==", "body_encoding": "base64"}
