"""A stretch of the log taken apart: what is found at once is what a walk from record to record finds."""

import random
import struct

import numpy as np
import pytest
from lake_log import DAY, Log
from mqframe_spark.lake import log_stretch
from mqframe_spark.lake.log_stretch import groups, slices

from mqframe.core.storage.record import MAGIC_V1, RecordError

TIME_MS = 1_700_000_000_000


def found(log: Log, start: int, end: int) -> list[int]:
    """Commit-log offsets of the records in [start, end), file by file."""
    size = log.store.LOG_BYTES
    places: list[int] = []
    while start < end:
        stop = min(end, start - start % size + size)
        for part in slices(log.store.folder / "commitlog", size, start, stop):
            assert part.end <= stop
            places += (part.starts + part.base).tolist()
        start = stop
    return places


@pytest.fixture(params=[16 << 20, 400, 100])
def slice_bytes(request, monkeypatch) -> int:
    """Slices as large as a file, of a few records, and smaller than one."""
    monkeypatch.setattr(log_stretch, "SLICE_BYTES", request.param)
    return request.param


def begins(log: Log) -> list[int]:
    """Where the records lie."""
    return [int(entry[:8].hex(), 16) for entry in entries(log)]


def entries(log: Log) -> list[bytes]:
    raw = []
    for path in (log.store.folder / "consumequeue").glob("*/*/*"):
        content = path.read_bytes()
        raw += [content[at : at + 20] for at in range(0, len(content), 20)]
    return sorted(entry for entry in raw if any(entry[8:12]))


def test_records_of_all_lengths_over_several_files(store, slice_bytes) -> None:
    log, lengths = Log(store), random.Random(7)
    for _ in range(80):
        log.add("t", body=bytes(lengths.randrange(256) for _ in range(lengths.randrange(700))))
    wanted = begins(log)
    assert len(wanted) == 80
    assert found(log, 0, store.end) == wanted
    assert found(log, wanted[13], wanted[55]) == wanted[13:55]


def test_bodies_that_hold_records_and_magic_numbers(store, record, slice_bytes) -> None:
    log = Log(store)
    magic = struct.pack(">i", MAGIC_V1)
    for body in (
        b"plain",
        record(0),
        magic,
        magic * 30,
        b"\xda" * 50,
        struct.pack(">i", 200) + magic,
        record(5),
    ):
        log.add("t", body=body)
        log.add("t", body=b"between")
    assert found(log, 0, store.end) == begins(log)


@pytest.mark.parametrize("at", [0, 1, 6])
@pytest.mark.parametrize("field", ["size", "magic"])
def test_damage_is_told_by_its_offset(store, at, field, slice_bytes) -> None:
    log = Log(store)
    for _ in range(7):
        log.add("t")
    place = begins(log)[at]
    path = store.folder / "commitlog" / f"{0:020d}"
    raw = bytearray(path.read_bytes())
    first = place if field == "size" else place + 4
    raw[first : first + 4] = b"\x7f\xff\xff\xff"
    path.write_bytes(raw)
    with pytest.raises(RecordError, match=f"offset {place};"):
        found(log, 0, store.end)


def test_groups_by_topic_and_day_ascend(store) -> None:
    log = Log(store)
    for number in range(20):
        log.add(("a", "b")[number % 2], store_timestamp=TIME_MS + number // 3 % 2 * DAY)
    part = next(slices(store.folder / "commitlog", store.LOG_BYTES, 0, store.end))
    rows = {}
    for topic, day, numbers in groups(part):
        assert (np.diff(numbers) > 0).all()
        rows[topic, day - TIME_MS // DAY] = numbers.tolist()
    every = range(len(part.starts))
    assert rows == {
        (topic, day): [n for n in every if n % 2 == index and n // 3 % 2 == day]
        for index, topic in enumerate("ab")
        for day in (0, 1)
    }


def test_what_no_queue_lists_is_in_no_group(store) -> None:
    log = Log(store)
    for sys_flag in (0, 4, 8, 12, 12 | 0x10):
        log.add("t", sys_flag=sys_flag)
    log.add("SET_ASIDE", sys_flag=12)
    part = next(slices(store.folder / "commitlog", store.LOG_BYTES, 0, store.end))
    assert len(part.starts) == 6
    assert [(topic, rows.tolist()) for topic, _, rows in groups(part)] == [("t", [0, 2])]
