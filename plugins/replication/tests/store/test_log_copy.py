"""A log that is copied in pieces is the log that it was copied from."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mqframe_replication.rules.stream import FrameReader
from mqframe_replication.store.log_copy import LogCopy

from mqframe.core.errors import StoreError
from mqframe.core.storage.log_scan import LogRecord
from mqframe.store.files.log_file import allocate_really
from mqframe.store.log.commit_log import CommitLog

RECORDED = Path(__file__).parents[4] / "tests/data/replication" / "5.3.3"
FILE_BYTES = 131_072


def recorded_log() -> tuple[int, bytes]:
    known = json.loads((RECORDED / "manifest.json").read_text())
    frames = [
        frame
        for connection in known["connections"]
        for frame in FrameReader().read((RECORDED / connection["masterFile"]).read_bytes())
    ]
    return frames[0].offset, b"".join(frame.data for frame in frames)


FIRST, LOG = recorded_log()


def taken(copy: LogCopy, *parts: bytes) -> list[LogRecord]:
    return [record for records in copy.take(*parts) for record in records]


def empty(directory: Path, file_bytes: int = FILE_BYTES) -> CommitLog:
    return CommitLog(directory, file_bytes, allocate_really, ThreadPoolExecutor(1))


def written(log: CommitLog) -> bytes:
    return b"".join(bytes(file.view) for file in log.files)[: log.end - log.start]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, len(LOG) - 1), max_size=30, unique=True))
def test_any_pieces_make_the_same_files(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]) -> None:
    log = empty(tmp_path_factory.mktemp("log"))
    log.begin_at(FIRST)
    copy = LogCopy(log)
    places = [0, *sorted(cuts), len(LOG)]
    ends = []
    for begin, end in pairwise(places):
        middle = (begin + end) // 2
        ends += [record.end for record in taken(copy, LOG[begin:middle], LOG[middle:end])]
        assert copy.received == FIRST + end
    assert log.end == FIRST + len(LOG)
    assert written(log) == LOG
    assert [file.base for file in log.files] == [FIRST, FIRST + FILE_BYTES, FIRST + 2 * FILE_BYTES]
    assert ends == sorted(ends)
    assert ends[-1] == log.end
    log.close()


def test_a_record_that_is_not_whole_is_not_appended_and_can_be_forgotten(tmp_path: Path) -> None:
    log = empty(tmp_path)
    log.begin_at(FIRST)
    copy = LogCopy(log)
    first, second = (record.end - FIRST for record in taken(copy, LOG[:8000])[:2])
    assert log.end - FIRST == second <= 8000 < log.end - FIRST + first
    copy.forget()
    assert copy.received == log.end
    assert taken(copy, LOG[second : second + first])[-1].physical_offset == FIRST + second


@pytest.mark.parametrize("damage", [b"\0" * 8, b"\xff" * 8, (91).to_bytes(4, "big") + b"abcd"])
def test_what_is_no_record_is_refused_and_nothing_is_appended(tmp_path: Path, damage: bytes) -> None:
    log = empty(tmp_path)
    log.begin_at(FIRST)
    with pytest.raises(StoreError, match="mappedFileSizeCommitLog"):
        taken(LogCopy(log), damage + LOG[8:])
    assert log.end == FIRST


def test_a_record_with_another_body_is_refused(tmp_path: Path) -> None:
    log = empty(tmp_path)
    log.begin_at(FIRST)
    copy = LogCopy(log)
    damaged = bytearray(LOG[:8000])
    damaged[200] ^= 1
    with pytest.raises(StoreError, match=f"log offset {FIRST}"):
        taken(copy, bytes(damaged))


def test_records_before_one_that_is_refused_are_appended_and_told(tmp_path: Path) -> None:
    log = empty(tmp_path)
    log.begin_at(FIRST)
    copy = LogCopy(log)
    whole = [record.end - FIRST for record in taken(LogCopy(log), LOG[:8000])]
    log.cut(FIRST)
    records = copy.take(LOG[: whole[1]], b"\xff" * 100)
    assert [record.end - FIRST for record in next(records)] == whole[:2]
    with pytest.raises(StoreError, match=f"log offset {FIRST + whole[1]}"):
        next(records)
    assert log.end == FIRST + whole[1]
    copy.forget()
    assert [record.end - FIRST for record in taken(copy, LOG[whole[1] : 8000])] == whole[2:]


def test_files_of_another_size_are_refused(tmp_path: Path) -> None:
    log = empty(tmp_path, FILE_BYTES // 2)
    log.begin_at(FIRST)
    with pytest.raises(StoreError, match=str(FILE_BYTES // 2)):
        taken(LogCopy(log), LOG)


def test_a_log_begins_where_a_file_does_and_only_when_it_is_empty(tmp_path: Path) -> None:
    log = empty(tmp_path)
    with pytest.raises(StoreError, match="cannot begin at 1"):
        log.begin_at(1)
    log.begin_at(FIRST)
    with pytest.raises(StoreError, match="begins elsewhere"):
        log.begin_at(FIRST)
    assert (log.start, log.end, log.flushed) == (FIRST, FIRST, FIRST)
