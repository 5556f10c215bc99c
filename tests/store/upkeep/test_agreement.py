"""Queues and index are derived: whatever is damaged of them, a start makes them say what the log says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from stores import bodies

from mqframe.core.storage.record import decode_records
from mqframe.store.queues.consume_queue import ENTRY

PLACES = [("a", 0), ("a", 1), ("b", 0)]
COUNT = 120
PER_FILE = 10
SMALL = {"commit_log_file_bytes": 4096, "queue_file_bytes": PER_FILE * ENTRY.size, "index_entries": 100}


def fill(store, message, count=COUNT, first=0):
    for n in range(first, first + count):
        topic, queue_id = PLACES[n % len(PLACES)]
        store.writes.put(message(topic, queue_id, b"%d" % n, KEYS=f"k{n} all{n % 7}", TAGS=f"t{n % 5}"))
        if n % 4 == 0:
            store.dispatch.now()
    store.dispatch.now()


def content(store):
    """All that consumers can get, and the tags codes of the entries."""
    found = {}
    for place in PLACES:
        offset, high = store.queues.min_offset(*place), store.queues.max_offset(*place)
        rows, codes = [], []
        while offset < high:
            got = store.reads.get(*place, offset, 7)
            for part in got.parts:
                rows += [(m.topic, m.queue_id, m.queue_offset, m.body) for m in decode_records(part)]
            codes += [entry[2] for entry in store.reads.entries(*place, offset, got.next_offset - offset)]
            assert got.next_offset > offset
            offset = got.next_offset
        found[place] = (store.queues.min_offset(*place), high, rows, codes)
    return found


def missing_keys(store, count=COUNT):
    return [n for n in range(count) if len(store.search.query(PLACES[n % 3][0], f"k{n}", 9).records) != 1]


async def end(store, killed):
    if killed:
        store.abandon()
    else:
        await store.stop()


def queue_file(root: Path, number: int, place: str = "a/0") -> Path:
    return sorted((root / "consumequeue" / place).iterdir())[number]


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def flip(path: Path, at: int) -> None:
    raw = path.read_bytes()
    overwrite(path, at, bytes([raw[at] ^ 0x10]))


def swap(first: Path, second: Path) -> None:
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no queues": lambda root: shutil.rmtree(root / "consumequeue"),
    "no topic": lambda root: shutil.rmtree(root / "consumequeue/a"),
    "no queue": lambda root: shutil.rmtree(root / "consumequeue/a/1"),
    "no first file": lambda root: queue_file(root, 0).unlink(),
    "no middle file": lambda root: queue_file(root, 1).unlink(),
    "no last file": lambda root: queue_file(root, -1).unlink(),
    "no files but the first": lambda root: [queue_file(root, -1).unlink() for _ in range(3)],
    "first file short": lambda root: os.truncate(queue_file(root, 0), 50),
    "last file short": lambda root: os.truncate(queue_file(root, -1), 50),
    "last file empty": lambda root: os.truncate(queue_file(root, -1), 0),
    "middle file empty": lambda root: os.truncate(queue_file(root, 2), 0),
    "middle file too long": lambda root: os.truncate(queue_file(root, 2), 333),
    "file of zeros": lambda root: overwrite(queue_file(root, 1), 0, bytes(200)),
    "first entry gone": lambda root: overwrite(queue_file(root, 0), 0, bytes(20)),
    "last entry gone": lambda root: overwrite(queue_file(root, 3), 9 * 20, bytes(20)),
    "a bit of a log offset": lambda root: flip(queue_file(root, 1), 5 * 20 + 6),
    "a high bit of a log offset": lambda root: flip(queue_file(root, 1), 5 * 20),
    "a bit of a size": lambda root: flip(queue_file(root, 2), 3 * 20 + 11),
    "a high bit of a size": lambda root: flip(queue_file(root, 2), 3 * 20 + 8),
    "a bit of a tags code": lambda root: flip(queue_file(root, 2), 3 * 20 + 19),
    "garbage": lambda root: overwrite(queue_file(root, 1), 30, b"\xa5" * 120),
    "pages of another queue": lambda root: swap(queue_file(root, 1), queue_file(root, 1, "b/0")),
    "pages of the same queue": lambda root: swap(queue_file(root, 1), queue_file(root, 2)),
    "no index": lambda root: shutil.rmtree(root / "index"),
    "no first index file": lambda root: min((root / "index").iterdir()).unlink(),
    "no last index file": lambda root: max((root / "index").iterdir()).unlink(),
    "index file empty": lambda root: os.truncate(sorted((root / "index").iterdir())[1], 0),
    "last index file empty": lambda root: os.truncate(max((root / "index").iterdir()), 0),
    "index file short": lambda root: os.truncate(max((root / "index").iterdir()), 900),
    "index entries gone": lambda root: overwrite(
        sorted((root / "index").iterdir())[1], 40 + 4000, bytes(2000)
    ),
    "index slots gone": lambda root: overwrite(sorted((root / "index").iterdir())[0], 40, bytes(4000)),
    "index header gone": lambda root: overwrite(sorted((root / "index").iterdir())[1], 0, bytes(40)),
    "all of it": lambda root: [shutil.rmtree(root / part) for part in ("consumequeue", "index")],
    "no note of ends": lambda root: (root / "queue-ends").unlink(),
    "a bit of the note of ends": lambda root: flip(root / "queue-ends", 60),
    "no checkpoint": lambda root: (root / "checkpoint").unlink(),
}


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_start_heals(opened, message, tmp_path, damage, killed):
    root = tmp_path / "store"
    store = opened(**SMALL)
    fill(store, message)
    before = content(store)
    assert missing_keys(store) == []
    await end(store, False)
    if killed:
        store = opened(**SMALL)
        await end(store, True)
    DAMAGES[damage](root)
    store = opened(**SMALL)
    assert content(store) == before
    assert missing_keys(store) == []
    fill(store, message, 30, COUNT)
    again = content(store)
    assert {place: high for place, (_, high, *_) in again.items()} == dict.fromkeys(PLACES, 50)
    assert missing_keys(store, COUNT + 30) == []
    await end(store, False)
    store = opened(**SMALL)
    assert store.recovered.records == 0
    assert content(store) == again


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
async def test_queues_of_files_of_another_size_are_built_again(opened, message, killed):
    store = opened(**SMALL)
    fill(store, message)
    before = content(store)
    await end(store, killed)
    other = SMALL | {"queue_file_bytes": 17 * ENTRY.size}
    store = opened(**other)
    assert content(store) == before
    await end(store, False)
    store = opened(**other)
    assert store.recovered.records == 0
    assert content(store) == before


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
@pytest.mark.parametrize("again", [0, 1, 5])
async def test_queues_of_a_deleted_topic_do_not_come_back(opened, message, tmp_path, again, killed):
    store = opened(**SMALL)
    fill(store, message)
    await store.delete_topic("a")
    for n in range(again):
        store.writes.put(message("a", 0, b"new %d" % n))
    store.dispatch.now()
    before = content(store)
    await end(store, killed)
    shutil.rmtree(tmp_path / "store/consumequeue")
    store = opened(**SMALL)
    assert content(store) == before
    assert before["a", 0][:2] == (0, again)
    await end(store, False)
    store = opened(**SMALL)
    assert store.recovered.records == 0
    assert content(store) == before


async def test_a_deletion_that_was_cut_off_is_finished(opened, message, tmp_path):
    store = opened(**SMALL)
    fill(store, message)
    await end(store, False)
    shutil.copytree(tmp_path / "store/consumequeue", tmp_path / "kept")
    store = opened(**SMALL)
    await store.delete_topic("a")
    await end(store, False)
    shutil.rmtree(tmp_path / "store/consumequeue")
    (tmp_path / "kept").rename(tmp_path / "store/consumequeue")
    (tmp_path / "store/queue-ends").unlink()
    store = opened(**SMALL)
    assert list(store.queues) == [("b", 0)]
    assert not (tmp_path / "store/consumequeue/a").exists()


@pytest.mark.parametrize("part", ["consumequeue", "consumequeue/a/0"])
async def test_offsets_go_on_where_the_log_has_nothing_left_of_a_queue(
    opened, message, clock, tmp_path, part
):
    """Its messages expired; who has read up to the end must get what comes next."""
    options = SMALL | {"keep_hours": 1}
    store = opened(**options)
    for n in range(25):
        store.writes.put(message("a", 0, b"%d" % n))
    store.dispatch.now()
    for _ in range(60):
        store.writes.put(message("b", 0, b"x" * 500))
    store.dispatch.now()
    clock.advance(80 * 365 * 86_400)
    store.clean(any_hour=True)
    assert store.queues.min_offset("a", 0) == store.queues.max_offset("a", 0) == 25
    await end(store, False)
    shutil.rmtree(tmp_path / "store" / part)
    store = opened(**options)
    assert store.queues.max_offset("a", 0) == 25
    assert store.writes.put(message("a", 0, b"next")).queue_offset == 25
    store.dispatch.now()
    assert store.queues.min_offset("a", 0) == 25
    (got,) = decode_records(store.reads.get("a", 0, 25, 9).parts[0])
    assert got.body == b"next"


async def test_a_queue_that_lists_nothing_of_what_the_log_has_is_built_again(
    opened, message, clock, tmp_path
):
    store = opened(commit_log_file_bytes=16384)
    for n in range(5):
        store.writes.put(message("last", 0, b"%d" % n))
        if n == 1:
            fill(store, message, 200)  # more than a start reads of a file
    store.dispatch.now()
    clock.advance(100 * 365 * 86400)
    assert len(store.clean(any_hour=True)) == 1
    await end(store, killed=False)
    path = queue_file(tmp_path / "store", 0, "last/0")
    path.write_bytes(bytes(path.stat().st_size))
    store = opened(commit_log_file_bytes=16384)
    assert (store.queues.min_offset("last", 0), store.queues.max_offset("last", 0)) == (2, 5)
    assert bodies(store.reads.get("last", 0, 2, 9)) == [b"2", b"3", b"4"]


def record_offsets(store, *place):
    return [entry[0] for entry in store.reads.entries(*place, 0, 99)]


@pytest.mark.parametrize(
    ("number", "says"),
    [(5, 4096), (5, 13), (8, 0), (0, 7), (5, -1), (19, 3), (19, 40)],
    ids=str,
)
async def test_a_record_with_a_wrong_queue_offset_hides_no_other(opened, message, tmp_path, number, says):
    """No CRC guards the offset that a record names: one alone is not believed."""
    store = opened()
    for n in range(20):
        store.writes.put(message("a", 0, b"%d" % n))
    store.dispatch.now()
    at = record_offsets(store, "a", 0)[number]
    await end(store, False)
    overwrite(tmp_path / "store/commitlog" / ("0" * 20), at + 20, says.to_bytes(8, "big", signed=True))
    shutil.rmtree(tmp_path / "store/consumequeue")
    store = opened()
    found = [
        m for offset in range(20) for p in store.reads.get("a", 0, offset, 1).parts for m in decode_records(p)
    ]
    assert {int(m.body) for m in found} >= set(range(20)) - {number}
    assert store.queues.max_offset("a", 0) >= 19


@pytest.mark.parametrize("name", ["queue-ends", "dispatched"])
@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
async def test_no_bit_of_a_note_misleads(opened, message, tmp_path, name, killed):
    store = opened()
    fill(store, message, 30)
    before = content(store)
    await end(store, False)
    if killed:
        await end(opened(), True)
    path = tmp_path / "store" / name
    good = path.read_bytes() if path.exists() else bytes(68)
    for at in range(0, len(good), max(1, len(good) // 25)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1 :])
        store = opened()
        assert content(store) == before
        await end(store, False)
        if killed:
            await end(opened(), True)
