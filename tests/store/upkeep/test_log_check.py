"""Damage in the log: what is kept, what is set aside, what is told."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import pytest

from mqframe.core.errors import StoreError
from mqframe.core.storage.record import decode_records
from mqframe.core.storage.recovery import Care
from mqframe.store.files.checkpoint import Checkpoint
from mqframe.store.upkeep.log_check import UndecidedDamage
from mqframe.store.upkeep.quarantine import LostEntries, Quarantine

FILE = 1 << 14


@pytest.fixture
def filled(opened, message, tmp_path, clock):
    """A store of 100 messages, t and u in turns, killed; where its records start."""

    def fill(count=100, body=200):
        store = opened(commit_log_file_bytes=FILE)
        places = [
            store.writes.put(
                message("tu"[n % 2], 0, b"%d|" % n * body, KEYS=f"k{n}", TAGS="a")
            ).commit_log_offset
            for n in range(count)
        ]
        store.dispatch.now()
        store.abandon()
        return places

    return fill


def readable(store, topic):
    """Queue offset and number of each message of `topic`, as a consumer gets them."""
    found, offset = [], store.queues.min_offset(topic, 0)
    while offset < store.queues.max_offset(topic, 0):
        got = store.reads.get(topic, 0, offset, 999)
        for part in got.parts:
            found += [
                (message.queue_offset, int(message.body.split(b"|")[0])) for message in decode_records(part)
            ]
        offset = got.next_offset
    return found


def expected(topic, count=100, without=()):
    return [(n // 2, n) for n in range("tu".index(topic), count, 2) if n not in without]


def flip(root: Path, place: int, mask: int = 0x10):
    """Damage one byte of the log of the store at `root`."""
    path = root / "commitlog" / f"{place - place % FILE:020d}"
    with path.open("r+b") as file:
        file.seek(place % FILE)
        (old,) = file.read(1)
        file.seek(place % FILE)
        file.write(bytes([old ^ mask]))


def checkpoint_says(root: Path, time_ms: int):
    checkpoint = Checkpoint(root / "checkpoint")
    checkpoint.log = checkpoint.queues = time_ms
    checkpoint.save()


@pytest.mark.parametrize("number", [0, 10, 11, 50, 99])
@pytest.mark.parametrize("byte", [0, 2, 5, 30, 87, 100])
def test_one_damaged_record_costs_itself_alone(opened, message, filled, tmp_path, number, byte):
    places = filled()
    root = tmp_path / "store"
    raw = {path: path.read_bytes() for path in (root / "commitlog").iterdir()}
    flip(root, places[number] + byte)
    store = opened(commit_log_file_bytes=FILE)
    for topic in "tu":
        assert readable(store, topic) == expected(topic, without={number})
    (report,) = store.recovered.set_aside
    assert report == Quarantine(root / "quarantine").reports()[0]
    assert (report.start, report.unfinished, report.records) == (places[number], False, 1)
    assert report.queues == [LostEntries("tu"[number % 2], 0, number // 2, number // 2 + 1)]
    copy = (root / "quarantine" / report.copy).read_bytes()
    assert len(copy) == report.end - report.start
    original = raw[root / "commitlog" / f"{report.start - report.start % FILE:020d}"][report.start % FILE :]
    assert [at for at, (a, b) in enumerate(zip(copy, original, strict=False)) if a != b] == [byte]
    # New messages take new offsets, and are found by those who had got all.
    (new,) = [store.writes.put(message("t", 0, b"100|"))]
    store.dispatch.now()
    assert new.queue_offset == 50
    assert readable(store, "t")[-1] == (50, 100)
    # It was mended for good: the next starts find nothing.
    for _ in range(2):
        store.abandon()
        store = opened(commit_log_file_bytes=FILE)
        assert store.recovered.set_aside == ()
        assert readable(store, "u") == expected("u", without={number})
    assert len(Quarantine(root / "quarantine").reports()) == 1


def test_the_report_names_the_time_of_the_record_before(opened, message, tmp_path, clock):
    store = opened(commit_log_file_bytes=FILE)
    places, times = [], []
    for number in range(9):
        places.append(store.writes.put(message("t", 0, b"%d|" % number * 50)).commit_log_offset)
        times.append(clock.now_ms())
        clock.advance(1)
    store.abandon()
    flip(tmp_path / "store", places[4] + 90)
    (report,) = opened(commit_log_file_bytes=FILE).recovered.set_aside
    assert (report.start, report.after_ms) == (places[4], times[3])


def test_a_damaged_record_without_queues_to_tell_of_it(opened, filled, tmp_path):
    places = filled()
    flip(tmp_path / "store", places[40] + 100)
    flip(tmp_path / "store", places[60] + 100)
    shutil.rmtree(tmp_path / "store/consumequeue")
    store = opened(commit_log_file_bytes=FILE)
    assert readable(store, "t") == expected("t", without={40, 60})
    assert readable(store, "u") == expected("u")
    assert [report.queues for report in store.recovered.set_aside] == [
        [LostEntries("t", 0, 20, 21)],
        [LostEntries("t", 0, 30, 31)],
    ]


def test_a_lost_page_across_records_and_a_lost_end_of_a_file(opened, filled, tmp_path):
    places = filled()
    path = tmp_path / "store/commitlog" / f"{FILE:020d}"
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + bytes(4096) + raw[8192:12288] + bytes(FILE - 12288))
    lost = {
        n
        for n, (start, end) in enumerate(zip(places, [*places[1:], places[-1]], strict=True))
        if FILE + 4096 < end <= FILE + 8192
        or FILE + 4096 <= start < FILE + 8192
        or FILE + 12288 < end <= 2 * FILE
        or FILE + 12288 <= start < 2 * FILE
        or (start < 2 * FILE <= end and start >= FILE)
    }
    store = opened(commit_log_file_bytes=FILE)
    for topic in "tu":
        assert readable(store, topic) == expected(topic, without=lost)
    assert [report.unfinished for report in store.recovered.set_aside] == [True, True]
    assert sum(report.records for report in store.recovered.set_aside) == len(lost)
    store.abandon()
    assert opened(commit_log_file_bytes=FILE).recovered.set_aside == ()


def test_keys_of_what_is_left_are_found(opened, filled, tmp_path):
    places = filled()
    flip(tmp_path / "store", places[33] + 100)
    store = opened(commit_log_file_bytes=FILE)
    found = [len(store.search.query("tu"[n % 2], f"k{n}", 9).records) for n in range(100)]
    assert found == [int(n != 33) for n in range(100)]


async def test_damage_after_an_orderly_stop_is_found_with_the_queues_gone(opened, filled, tmp_path):
    places = filled()
    await opened(commit_log_file_bytes=FILE).stop()
    flip(tmp_path / "store", places[20] + 100)
    shutil.rmtree(tmp_path / "store/consumequeue")
    (tmp_path / "store/queue-ends").unlink()
    store = opened(commit_log_file_bytes=FILE)
    assert readable(store, "t") == expected("t", without={20})


def test_a_torn_end_is_cut_and_kept(opened, message, filled, tmp_path):
    places = filled(20, body=600)
    root = tmp_path / "store"
    path = root / "commitlog" / f"{places[19] - places[19] % FILE:020d}"
    raw = bytearray(path.read_bytes())
    at = places[19] % FILE
    sector = at - at % 512 + 512
    torn = bytes(raw[at:sector])
    raw[sector : sector + 512] = bytes(512)
    path.write_bytes(raw)
    store = opened(commit_log_file_bytes=FILE)
    assert store.log.max_offset == places[19]
    assert readable(store, "u") == expected("u", 20, {19})
    assert store.recovered.set_aside == ()
    (copy,) = (root / "quarantine").iterdir()
    assert copy.read_bytes().startswith(torn + bytes(512))
    assert store.writes.put(message("u", 0, b"20|")).queue_offset == 9


def test_a_lost_end_below_the_checkpoint_stops_the_start(opened, message, filled, tmp_path, clock):
    places = filled()
    root = tmp_path / "store"
    checkpoint_says(root, clock.now_ms() + 3001)
    cut = places[70] - places[70] % FILE
    path = root / "commitlog" / f"{cut:020d}"
    at = places[70] - cut
    path.write_bytes(path.read_bytes()[:at] + bytes(FILE - at))
    for later in (root / "commitlog").iterdir():
        if int(later.name) > cut:
            later.unlink()
    before = {path: path.read_bytes() for path in (root / "commitlog").iterdir()}
    for _ in range(2):
        with pytest.raises(UndecidedDamage, match=f"ends at offset {places[70]} ") as caught:
            opened(commit_log_file_bytes=FILE)
    assert f"mqframe store recover {root} --accept-loss" in str(caught.value)
    assert {path: path.read_bytes() for path in (root / "commitlog").iterdir()} == before
    store = opened(commit_log_file_bytes=FILE, options={"care": Care.ACCEPT_LOSS})
    assert readable(store, "t") == expected("t", 70)
    store.abandon()
    checkpoint_says(root, clock.now_ms())
    assert readable(opened(commit_log_file_bytes=FILE), "u") == expected("u", 70)


def test_zeros_in_the_middle_without_a_checkpoint_stop_the_start(opened, filled, tmp_path):
    filled()
    root = tmp_path / "store"
    (root / "checkpoint").unlink()
    path = root / "commitlog" / f"{0:020d}"
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + bytes(4096) + raw[8192:])
    with pytest.raises(UndecidedDamage, match="there is no checkpoint that tells"):
        opened(commit_log_file_bytes=FILE)
    assert not (root / "quarantine").exists()
    store = opened(commit_log_file_bytes=FILE, options={"care": Care.ACCEPT_LOSS})
    assert len(store.recovered.set_aside) == 1
    assert store.recovered.set_aside[0].records + len(readable(store, "t")) + len(readable(store, "u")) == 100


def test_a_missing_file_whose_loss_is_accepted(opened, filled, tmp_path):
    places = filled()
    root = tmp_path / "store"
    (root / "commitlog" / f"{FILE:020d}").unlink()
    with pytest.raises(StoreError, match="missing between others"):
        opened(commit_log_file_bytes=FILE)
    lost = {n for n, place in enumerate(places) if FILE <= place < 2 * FILE}
    store = opened(commit_log_file_bytes=FILE, options={"care": Care.ACCEPT_LOSS})
    for topic in "tu":
        assert readable(store, topic) == expected(topic, without=lost)
    assert {(each.topic, each.start, each.end) for each in store.recovered.set_aside[0].queues} == {
        ("t", -(-min(lost) // 2), -(-(max(lost) + 1) // 2)),
        ("u", min(lost) // 2, (max(lost) + 1) // 2),
    }
    store.abandon()
    store = opened(commit_log_file_bytes=FILE)
    assert store.recovered.set_aside == ()
    assert readable(store, "u") == expected("u", without=lost)


def test_records_left_over_behind_an_earlier_cut_stay_gone(opened, filled, message, tmp_path, clock):
    # Apache RocketMQ cuts its log by moving the end alone: whole older records follow newer ones.
    places = filled(10)
    root = tmp_path / "store"
    path = root / "commitlog" / f"{0:020d}"
    old = path.read_bytes()
    path.write_bytes(old[: places[2]] + bytes(FILE - places[2]))
    clock.advance(10)
    store = opened(commit_log_file_bytes=FILE)
    store.writes.put(message("t", 0, b"100|"))
    end = store.log.max_offset
    store.abandon()
    path.write_bytes(path.read_bytes()[:end] + old[end:])
    store = opened(commit_log_file_bytes=FILE)
    assert readable(store, "t") == [(0, 0), (1, 100)]
    assert readable(store, "u") == [(0, 1)]


def test_the_checkpoint_is_there_from_the_first_start_on(opened, tmp_path):
    opened()
    assert (tmp_path / "store/checkpoint").read_bytes()[:40] == struct.pack(">5q", 0, 0, 0, 0, 0)


def test_times_are_found_around_what_is_lost(opened, message, tmp_path, clock):
    store = opened()
    stored = []
    for n in range(40):
        stored.append(store.writes.put(message("t", 0, b"%d|" % n)))
        clock.advance(1)
    store.dispatch.now()
    store.abandon()
    path = tmp_path / "store/commitlog" / f"{0:020d}"
    raw = bytearray(path.read_bytes())
    for n in (0, 5, 19, 20, 30):
        raw[stored[n].commit_log_offset + 90] ^= 1
    path.write_bytes(raw)
    store = opened()
    assert len(store.recovered.set_aside) == 4  # two lie side by side
    for n in set(range(40)) - {0, 5, 19, 20, 30}:
        found = store.queues.offset_at("t", 0, stored[n].store_timestamp)
        assert store.reads.get("t", 0, found, 1).next_offset <= n + 1
        assert next(offset for offset, _ in readable_from(store, found)) == n


def readable_from(store, offset):
    return [each for each in readable(store, "t") if each[0] >= offset]


async def test_a_log_whose_only_file_was_never_on_disk_starts(opened, message, filled, tmp_path):
    """What the checkpoint speaks of was cleaned away; what came after it a power loss took."""
    filled()
    every_hour = {"commit_log_file_bytes": FILE, "delete_when": ";".join(map(str, range(24)))}
    await opened(**every_hour).stop()
    store = opened(**every_hour)
    files = sorted((tmp_path / "store/commitlog").iterdir())
    while store.log.max_offset <= len(files) * FILE:
        store.writes.put(message("t", 0, bytes(1000)))
    store.dispatch.now()
    for path in files:
        os.utime(path, (0, 0))
    assert [path.name for path in store.clean()] == [path.name for path in files]
    store.abandon()
    (last,) = (tmp_path / "store/commitlog").iterdir()
    last.write_bytes(bytes(FILE))
    store = opened(**every_hour)
    assert store.log.min_offset == store.log.max_offset == len(files) * FILE
    assert readable(store, "t") == []
    assert store.writes.put(message("t", 0, b"100|")).queue_offset >= 50
    store.dispatch.now()
    assert readable(store, "t")[-1][1] == 100


async def test_an_accepted_loss_is_not_complained_of_again(opened, message, filled, tmp_path):
    filled()
    await opened(commit_log_file_bytes=FILE).stop()
    (tmp_path / "store/abort").write_text("1")
    for path in sorted((tmp_path / "store/commitlog").iterdir())[1:]:
        path.unlink()
    with pytest.raises(UndecidedDamage, match=r"ends at offset 16384"):
        opened(commit_log_file_bytes=FILE)
    store = opened(commit_log_file_bytes=FILE, options={"care": Care.ACCEPT_LOSS})
    kept = readable(store, "t")
    store.abandon()
    store = opened(commit_log_file_bytes=FILE)
    assert readable(store, "t") == kept != []


@pytest.mark.parametrize("left", [0, 1, 5, 7, 8])
def test_damage_up_to_the_end_of_a_file_leaves_room_for_its_blank_mark(
    opened, message, filled, tmp_path, left
):
    places = filled(10)
    (path,) = (path for path in (tmp_path / "store/commitlog").iterdir() if int(path.name) == 0)
    raw = path.read_bytes()
    path.write_bytes(raw[: places[9]] + b"\xee" * (FILE - left - places[9]) + bytes(left))
    store = opened(commit_log_file_bytes=FILE)
    store.writes.put(message("t", 0, b"10|"))
    store.dispatch.now()
    assert readable(store, "t")[-1][1] == 10
    store.abandon()
    assert path.stat().st_size == FILE
    store = opened(commit_log_file_bytes=FILE)
    assert [number for _, number in readable(store, "t")] == [0, 2, 4, 6, 8, 10]
