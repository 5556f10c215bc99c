"""Clean-up on disk and refusal of writes; the rules themselves are tested in tests/core."""

from __future__ import annotations

import os
from datetime import datetime

import attrs
import pytest
from trust.disk import Synced, SyncedAll, Unnamed
from trust.seam import Seam

from mqframe.core.errors import StoreUnavailable
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.record import decode_records


def fill(store, message, count):
    for n in range(count):
        store.writes.put(message(body=b"%04d" % n * 200, KEYS=f"k{n}"))
    store.dispatch.now()


def age(store, directory, hours, count, clock):
    for path in sorted((directory / "commitlog").iterdir())[:count]:
        when = clock.now_ms() / 1000 - hours * 3600
        os.utime(path, (when, when))


def names(directory, part):
    return sorted(path.name for path in (directory / part).rglob("0*") if path.is_file())


@pytest.fixture
def always():
    return ";".join(map(str, range(24)))


def test_a_change_of_age_and_hours_counts_from_the_next_pass_on(opened, message, clock, tmp_path, always):
    store = opened(commit_log_file_bytes=4096, keep_hours=1000, delete_when=always)
    fill(store, message, 30)
    age(store, tmp_path / "store", 100, 2, clock)
    assert store.clean() == []
    store.change(attrs.evolve(store.settings, keep_hours=72))
    assert len(store.clean()) == 2
    age(store, tmp_path / "store", 100, 1, clock)
    now = datetime.fromtimestamp(clock.now_ms() / 1000).hour
    store.change(attrs.evolve(store.settings, delete_when=str((now + 1) % 24)))
    assert store.clean() == []


def test_expired_files_and_what_follows_them(opened, message, clock, tmp_path, always):
    store = opened(commit_log_file_bytes=4096, queue_file_bytes=100, index_entries=8, delete_when=always)
    fill(store, message, 30)
    directory = tmp_path / "store"
    files = names(directory, "commitlog")
    indexes = len(list((directory / "index").iterdir()))
    age(store, directory, 100, 2, clock)
    view = store.reads.get("t", 0, 0, 1).parts[0]
    gone = store.clean()
    assert [path.name for path in gone] == files[:2]
    assert names(directory, "commitlog") == files[2:]
    assert store.log.min_offset == 8192
    first = store.queues.min_offset("t", 0)
    assert 0 < first < 30
    assert names(directory, "consumequeue")[0] == f"{first // 5 * 100:020d}"
    assert len(list((directory / "index").iterdir())) < indexes
    (oldest,) = decode_records(store.reads.get("t", 0, first, 1).parts[0])
    assert oldest.commit_log_offset >= 8192
    assert store.reads.get("t", 0, first - 1, 1).status is GetStatus.OFFSET_TOO_SMALL
    assert store.search.query("t", "k0", 9).records == []
    assert store.queues.offset_at("t", 0, 0) == first
    # What was handed out before stays readable.
    assert next(iter(decode_records(view))).body == b"0000" * 200
    store.abandon()
    store = opened(commit_log_file_bytes=4096, queue_file_bytes=100, index_entries=8)
    assert (store.queues.min_offset("t", 0), store.queues.max_offset("t", 0), store.log.min_offset) == (
        first,
        30,
        8192,
    )


def test_files_go_one_by_one_so_that_none_comes_back_before_a_gap(opened, message, clock, tmp_path, always):
    """What a power loss brings back is the newest of them: the log stays in one piece."""
    store = opened(commit_log_file_bytes=4096, delete_when=always)
    fill(store, message, 30)
    directory = tmp_path / "store"
    age(store, directory, 100, 3, clock)
    events = []
    with Seam(directory, events.append).in_force() as seam:
        store.clean()
        log = seam.number_of(str(directory / "commitlog"))
    after = events[events.index(SyncedAll()) + 1 :]
    told = [event for event in after if event == Synced(log) or getattr(event, "directory", -1) == log]
    expected = []
    for number in range(3):
        expected += [Unnamed(log, f"{number * 4096:020d}"), Synced(log)]
    assert told == expected


def test_a_file_that_could_not_be_removed_goes_before_younger_ones(opened, message, clock, tmp_path, always):
    store = opened(commit_log_file_bytes=4096, delete_when=always)
    fill(store, message, 30)
    directory = tmp_path / "store"
    files = names(directory, "commitlog")
    failing = ["unlink"]

    def before(call, path):
        if call in failing and path.startswith("/commitlog"):
            raise OSError(5, "Input/output error")

    age(store, directory, 100, 2, clock)
    with Seam(directory, before=before).in_force():
        store.clean()
        assert names(directory, "commitlog") == files
        age(store, directory, 100, 4, clock)
        store.clean()
        assert names(directory, "commitlog") == files, "the oldest still cannot be removed"
        failing[:] = ["fsync"]
        store.clean()
        assert names(directory, "commitlog") == files[1:]
        failing.clear()
        store.clean()
    assert names(directory, "commitlog") == files[4:]
    assert store.log.min_offset == 4 * 4096


def test_a_queue_or_index_file_that_cannot_be_removed_holds_nothing_up(
    opened, message, clock, tmp_path, always, caplog
):
    options = {"commit_log_file_bytes": 4096, "queue_file_bytes": 100, "index_entries": 8}
    store = opened(**options, delete_when=always)
    fill(store, message, 30)
    directory = tmp_path / "store"

    def before(call, path):
        if call == "unlink" and not path.startswith("/commitlog"):
            raise OSError(5, "Input/output error")

    age(store, directory, 100, 2, clock)
    with Seam(directory, before=before).in_force():
        assert len(store.clean()) == 2
    assert caplog.text.count("could not be removed") == 2
    assert store.log.min_offset == 8192
    first = store.queues.min_offset("t", 0)
    assert 0 < first < 30
    store.clean()
    assert names(directory, "consumequeue")[0] == f"{first // 5 * 100:020d}"
    assert store.search.query("t", "k29", 9).records


def test_no_power_cut_makes_a_hole_in_the_log(opened, message, clock, tmp_path, always, operations):
    store = opened(commit_log_file_bytes=4096, options={"open_index": None}, delete_when=always)
    fill(store, message, 30)
    age(store, tmp_path / "store", 100, 3, clock)
    operations.clear()
    files = [f"store/commitlog/{path.name}" for path in store.clean()]
    assert len(files) == 3
    assert operations[:6] == [each for name in files for each in (f"unlink {name}", "fsync store/commitlog")]


def test_young_files_stay(opened, message, clock, tmp_path, always):
    store = opened(commit_log_file_bytes=4096, delete_when=always)
    fill(store, message, 30)
    age(store, tmp_path / "store", 71, 4, clock)
    assert store.clean() == []


def test_an_operator_does_not_wait_for_the_hour(opened, message, clock, tmp_path):
    hour = datetime.fromtimestamp(clock.now_ms() / 1000).hour
    store = opened(commit_log_file_bytes=4096, delete_when=f"{(hour + 12) % 24:02}")
    fill(store, message, 30)
    age(store, tmp_path / "store", 100, 2, clock)
    assert store.clean() == []
    assert len(store.clean(any_hour=True)) == 2


def test_the_file_being_written_stays(opened, message, clock, tmp_path, always):
    store = opened(commit_log_file_bytes=4096, delete_when=always)
    fill(store, message, 3)
    age(store, tmp_path / "store", 1000, 1, clock)
    assert store.clean() == []


async def test_full_disk_refuses_writes_until_there_is_room(opened, message, clock, tmp_path, caplog):
    disk = [100, 50]
    store = opened(
        disk_limits=True,
        disk_enough_free_bytes=0,
        commit_log_file_bytes=4096,
        options={"usage": lambda _: (disk[0], disk[1])},
    )
    store.start()
    fill(store, message, 30)
    disk[1] = 5
    await clock.aadvance(10.1)
    with pytest.raises(StoreUnavailable, match=r"is 95 % full, writes stop above 90 %: free some space"):
        store.writes.put(message())
    assert store.log.min_offset > 0, "old files went at once"
    disk[1] = 60
    await clock.aadvance(10.1)
    store.writes.put(message())
    told = [each.levelname for each in caplog.records if "writes are" in each.getMessage()]
    assert told == ["ERROR", "ERROR"], "that it is over is as loud as that it was"
    await store.stop()


def test_percentages_do_not_count_while_much_is_free(opened, message):
    store = opened(disk_limits=True, options={"usage": lambda _: (1 << 44, 11 << 30)})
    store.clean()
    assert store.refusals.now() is None


def test_percentages_can_be_switched_off(opened, message):
    store = opened(disk_limits=False, options={"usage": lambda _: (100, 0)})
    store.clean()
    assert store.refusals.now() is None


def test_a_clock_that_jumps_ahead_deletes_nothing_young(opened, message, clock, tmp_path, always):
    store = opened(commit_log_file_bytes=4096, delete_when=always)
    fill(store, message, 30)
    age(store, tmp_path / "store", 1, 30, clock)
    clock.jump(7 * 86_400)
    assert store.clean() == []
    store.abandon()
    store = opened(commit_log_file_bytes=4096, delete_when=always)
    assert store.clean() == []
    clock.jump(-7 * 86_400)
    clock.advance(72 * 3600)
    assert len(store.clean()) > 0


@pytest.mark.parametrize("jump", [36_000, -36_000])
def test_offsets_are_found_by_time_though_the_clock_was_set(opened, message, clock, jump):
    store = opened()
    begin = clock.now_ms()
    for number in range(30):
        if number in (10, 20):
            clock.jump(jump if number == 10 else -jump)
        clock.advance(1)
        store.writes.put(message(body=b"%d" % number))
    store.dispatch.now()
    assert store.queues.offset_at("t", 0, begin + 5000) == 4
    assert store.queues.offset_at("t", 0, begin - 1) == 0
    found = store.queues.offset_at("t", 0, begin + 25_500)
    assert 10 <= found <= 26  # rather a message too many than one too few
    assert store.queues.offset_at("t", 0, begin + 80_000_000) == 30


def clock_lines(caplog):
    events = [(each.levelname, each.getMessage().partition(":")[0]) for each in caplog.records]
    return [(level, event) for level, event in events if "clock" in event]


def test_a_start_after_a_pause_is_not_told_as_a_clock_that_was_set(opened, message, clock, caplog):
    store = opened(keep_hours=1000)
    fill(store, message, 3)
    store.abandon()
    clock.advance(5 * 86_400)
    store = opened(keep_hours=1000)
    store.clean()
    assert clock_lines(caplog) == []
    clock.jump(7200)
    store.clean()
    store.clean()
    assert clock_lines(caplog) == [("WARNING", "the clock was set forward")]
    clock.jump(-7200)
    store.clean()
    assert clock_lines(caplog)[1:] == [("WARNING", "the clock is believed again after_seconds=0")]
