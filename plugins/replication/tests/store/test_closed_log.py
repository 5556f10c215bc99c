"""A log that nobody has open, as those see it who only look."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_replication.store.closed_log import ClosedLog

from mqframe.core.errors import StoreError
from mqframe.store.files.layout import Layout


@pytest.fixture
def layout(opened, message, tmp_path):
    store = opened(commit_log_file_bytes=4096)
    for n in range(20):
        store.writes.put(message("t", 0, b"%d" % n * 300, TAGS="a"))
    store.dispatch.now()
    asyncio.run(store.stop())
    return Layout(tmp_path / "store")


def test_records_are_walked_file_by_file(layout) -> None:
    with ClosedLog(layout) as log:
        found = [record.queue_offset for file in log.files for record in log.records(file)]
        assert found == list(range(20))
        (first, *_) = log.records(log.files[1])
        assert first.physical_offset == log.files[1].base
        assert log.bytes_at(first.physical_offset, first.end)[20:28] == first.queue_offset.to_bytes(8, "big")


def test_parts_go_from_an_offset_to_the_last_byte_of_each_file(layout) -> None:
    with ClosedLog(layout) as log:
        (last,) = list(log.records(log.files[-1]))[-1:]
        start = log.files[1].base + 8
        parts = [(file.base + at, file.base + stop) for file, at, stop in log.parts_from(start)]
        assert parts[0][0] == start
        assert [at for at, _ in parts[1:]] == [file.base for file in log.files[2:]]
        assert parts[-1][1] == last.end


def test_a_log_with_a_gap_is_refused(layout) -> None:
    sorted(layout.commit_log.iterdir())[1].unlink()
    with pytest.raises(StoreError, match="missing between others"), ClosedLog(layout):
        pass


def test_an_empty_log_ends_at_0_and_has_no_other_offset(tmp_path) -> None:
    (tmp_path / "commitlog").mkdir()
    with ClosedLog(Layout(tmp_path)) as log:
        assert log.newest_before(0) == 0
        with pytest.raises(StoreError, match="it has no files"):
            log.newest_before(8)
