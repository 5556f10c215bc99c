"""Opening again: after an orderly stop, after a kill, after damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from mqframe_testing.thread_pools import at_rest
from stores import put

from mqframe.core.errors import MessageError, StoreUnavailable
from mqframe.core.messages.addresses import encode_host
from mqframe.core.storage.record import decode_records, encode_record
from mqframe.core.storage.recovery import Care
from mqframe.store.index.index_file import HEADER
from mqframe.store.upkeep.log_check import UndecidedDamage


def bodies(store, topic="t", queue_id=0):
    found = store.reads.get(topic, queue_id, store.queues.min_offset(topic, queue_id), 999, bytes_max=1 << 30)
    return [message.body for part in found.parts for message in decode_records(part)]


def fill(store, message, count, first=0):
    for n in range(first, first + count):
        store.writes.put(message("t", 0, b"%d" % n * 50, KEYS=f"k{n}", TAGS="a"))
    store.dispatch.now()


def expected(count, first=0):
    return [b"%d" % n * 50 for n in range(first, first + count)]


async def stop(store):
    await store.stop()


def last_file(root: Path) -> Path:
    return max((root / "commitlog").iterdir())


async def test_orderly_stop_is_trusted_without_checking_records(opened, message, tmp_path):
    store = opened(commit_log_file_bytes=4096)
    fill(store, message, 30)
    ends = {
        place: (store.queues.min_offset(*place), store.queues.max_offset(*place)) for place in store.queues
    }
    end = store.log.max_offset
    await stop(store)
    assert not (tmp_path / "store/abort").exists()
    store = opened(commit_log_file_bytes=4096)
    assert (tmp_path / "store/abort").exists()
    assert store.recovered.records == 0
    assert store.log.max_offset == end
    assert {
        place: (store.queues.min_offset(*place), store.queues.max_offset(*place)) for place in store.queues
    } == ends
    assert bodies(store) == expected(30)
    fill(store, message, 5, 30)
    assert bodies(store) == expected(35)
    assert [len(store.search.query("t", f"k{n}", 9).records) for n in range(35)] == [1] * 35


async def test_a_thorough_start_takes_no_sound_index_for_a_short_one(opened, message, tmp_path, caplog):
    store = opened()
    fill(store, message, 10)
    await stop(store)
    (before,) = (tmp_path / "store/index").iterdir()
    content = before.read_bytes()
    await stop(opened(options={"care": Care.THOROUGH}))
    assert "index file" not in caplog.text
    assert before.read_bytes() == content


async def test_orderly_stop_without_the_note_of_queue_ends(opened, message, tmp_path):
    store = opened(commit_log_file_bytes=4096, queue_file_bytes=200)
    fill(store, message, 30)
    await stop(store)
    (tmp_path / "store/queue-ends").unlink()
    store = opened(commit_log_file_bytes=4096, queue_file_bytes=200)
    assert store.recovered.records == 0
    assert bodies(store)[:5] == expected(5)
    fill(store, message, 5, 30)
    assert store.queues.max_offset("t", 0) == 35


@pytest.mark.parametrize("damage", [b"", b"\xc1", b"\x00" * 50])
async def test_damaged_note_of_queue_ends_is_passed_over(opened, message, tmp_path, damage):
    store = opened()
    fill(store, message, 3)
    await stop(store)
    (tmp_path / "store/queue-ends").write_bytes(damage)
    assert bodies(opened()) == expected(3)


async def test_note_of_queue_ends_is_stale_once_another_broker_wrote(opened, message, tmp_path):
    store = opened()
    fill(store, message, 3)
    await stop(store)
    note = (tmp_path / "store/queue-ends").read_bytes()
    store = opened()
    fill(store, message, 4, 3)
    await stop(store)
    (tmp_path / "store/queue-ends").write_bytes(note)
    # A later checkpoint says that the note is old; here the clock stands still, so say it by hand.
    checkpoint = tmp_path / "store/checkpoint"
    checkpoint.write_bytes(b"\0\0\0\0\0\0\0\1" + checkpoint.read_bytes()[8:])
    assert bodies(opened()) == expected(7)


async def test_orderly_stop_leaves_no_file_made_ahead(opened, message, tmp_path):
    store = opened(commit_log_file_bytes=4096)
    fill(store, message, 3)
    store.start()
    await store.stop()
    assert [path.name for path in (tmp_path / "store/commitlog").iterdir()] == ["0" * 20]


def test_killed_store(opened, message):
    store = opened(commit_log_file_bytes=4096)
    fill(store, message, 30)
    store.abandon()
    store = opened(commit_log_file_bytes=4096)
    assert store.recovered.records == 30
    assert bodies(store) == expected(30)
    assert [len(store.search.query("t", f"k{n}", 9).records) for n in range(30)] == [1] * 30
    fill(store, message, 1, 30)
    assert bodies(store) == expected(31)


def test_killed_before_dispatch(opened, message):
    store = opened()
    store.writes.put(message(body=b"1", KEYS="k"))
    store.writes.put(message("u", 2, b"2"))
    store.abandon()
    store = opened()
    assert (bodies(store), bodies(store, "u", 2)) == ([b"1"], [b"2"])
    assert len(store.search.query("t", "k", 1).records) == 1


@pytest.mark.parametrize("part", ["consumequeue", "index"])
def test_lost_queues_or_index_are_built_again(opened, message, tmp_path, part):
    store = opened(commit_log_file_bytes=4096)
    fill(store, message, 30)
    store.abandon()
    shutil.rmtree(tmp_path / "store" / part)
    store = opened(commit_log_file_bytes=4096)
    assert bodies(store) == expected(30)
    assert [len(store.search.query("t", f"k{n}", 9).records) for n in range(30)] == [1] * 30


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:100], lambda raw: raw[:36] + b"\x7f\xff\xff\xff" + raw[40:]]
)
async def test_damaged_index_after_an_orderly_stop(opened, message, tmp_path, damage):
    store = opened()
    fill(store, message, 10)
    await stop(store)
    (path,) = (tmp_path / "store/index").iterdir()
    path.write_bytes(damage(path.read_bytes()))
    store = opened()
    assert [len(store.search.query("t", f"k{n}", 9).records) for n in range(10)] == [1] * 10


def test_log_gone_means_queues_gone(opened, message, tmp_path):
    store = opened()
    fill(store, message, 3)
    store.abandon()
    shutil.rmtree(tmp_path / "store/commitlog")
    store = opened()
    assert list(store.queues) == []
    fill(store, message, 1)
    assert bodies(store) == expected(1)


async def test_a_log_that_is_gone_stops_the_start_where_it_is_known_that_there_was_one(
    opened, message, tmp_path
):
    store = opened()
    fill(store, message, 3)
    await store.stop()
    shutil.rmtree(tmp_path / "store/commitlog")
    with pytest.raises(UndecidedDamage, match="ends at offset 0, but had been on the disk up to"):
        opened()
    store = opened(options={"care": Care.ACCEPT_LOSS})
    fill(store, message, 1)
    store.abandon()
    assert bodies(opened()) == expected(1)


async def test_a_record_whose_keys_were_on_their_way_into_two_files_is_found_after_a_kill(
    opened, message, clock, tmp_path
):
    store = opened(index_entries=5)
    store.start()
    put(store, message(KEYS="k0"), message(KEYS="k1 k2 k3 k4 k5"))
    await clock.aadvance(2)
    store.abandon()
    first, second = sorted((tmp_path / "store/index").iterdir())
    _, last_time, _, last_offset, _, _ = HEADER.unpack_from(first.read_bytes())
    made = HEADER.pack(last_time, last_time, last_offset, last_offset, 0, 1)
    second.write_bytes(made.ljust(second.stat().st_size, b"\0"))
    store = opened(index_entries=5)
    assert [len(store.search.query("t", f"k{n}", 9).records) for n in range(6)] == [1] * 6


def test_empty_last_file_is_removed(opened, message, tmp_path):
    store = opened(commit_log_file_bytes=4096)
    fill(store, message, 3)
    store.abandon()
    (tmp_path / "store/commitlog" / f"{4096:020d}").touch()
    assert bodies(opened(commit_log_file_bytes=4096)) == expected(3)


def test_half_allocated_file_is_removed(opened, message, tmp_path):
    store = opened()
    fill(store, message, 3)
    store.abandon()
    (tmp_path / "store/commitlog" / f"{1 << 20:020d}.allocating").write_bytes(b"\0" * 100)
    assert bodies(opened()) == expected(3)


async def test_checkpoint_limits_what_is_checked(opened, message, clock, tmp_path):
    store = opened(commit_log_file_bytes=4096)
    store.start()
    for n in range(30):
        fill(store, message, 1, n)
        await clock.aadvance(1)
    for _ in range(400):
        await clock.aadvance(0.2)
        await at_rest()
    fill(store, message, 1, 30)
    store.abandon()
    store = opened(commit_log_file_bytes=4096)
    assert 0 < store.recovered.records < 31
    assert bodies(store) == expected(31)
    assert [len(store.search.query("t", f"k{n}", 9).records) for n in range(31)] == [1] * 31


@pytest.mark.parametrize("lost", [1, 5, 20])
def test_a_write_that_was_cut_off_in_the_properties(opened, message, tmp_path, lost):
    store = opened()
    fill(store, message, 3)
    end = store.log.max_offset
    store.abandon()
    with last_file(tmp_path / "store").open("r+b") as log:
        log.seek(end - lost)
        log.write(bytes(lost))
    store = opened()
    assert bodies(store) == expected(2)
    assert store.search.query("t", "k2", 9).records == []
    fill(store, message, 1, 2)
    assert bodies(store) == expected(3)
    assert store.log.max_offset == end


def test_the_committed_messages_that_a_log_ends_with(opened, message):
    def put(sys_flag, body=b"x"):
        return store.writes.put(
            msgspec.structs.replace(message("t", 0, body), sys_flag=sys_flag)
        ).commit_log_offset

    store = opened(commit_log_file_bytes=4096)
    assert store.recovered.last_commits == ()
    put(8)
    put(0)
    found = tuple(put(8, b"%d" % number * 500) for number in range(9))
    store.abandon()
    store = opened(commit_log_file_bytes=4096)
    assert store.recovered.last_commits == found
    put(0)
    store.abandon()
    assert opened(commit_log_file_bytes=4096).recovered.last_commits == ()


async def test_room_is_made_in_one_file(opened, message):
    store = opened(commit_log_file_bytes=4096)
    store.writes.put(message("t", 0, b"x" * 2000))
    store.writes.make_room(1000)
    assert store.log.max_offset < 4096
    store.writes.make_room(2500)
    assert store.log.max_offset == 4096
    store.writes.make_room(4088)
    assert store.log.max_offset == 4096
    with pytest.raises(MessageError, match="does not fit a commit-log file of 4096 bytes"):
        store.writes.make_room(4089)
    fill(store, message, 1)
    assert bodies(store) == [b"x" * 2000, *expected(1)]
    await stop(store)
    with pytest.raises(StoreUnavailable, match="has stopped"):
        store.writes.make_room(1)


@pytest.mark.parametrize(
    "odd",
    [
        {"topic": "../../up"},
        {"topic": "x" * 300},
        {"queue_id": -1},
        {"queue_offset": -1},
        {"topic": "SCHEDULE_TOPIC_XXXX", "properties": b"DELAY\x01" + b"9" * 5000 + b"\x02"},
    ],
    ids=["outside", "long", "queue id", "queue offset", "level"],
)
async def test_odd_records_that_others_stored_stop_no_start(opened, message, tmp_path, odd):
    store = opened()
    fill(store, message, 3)
    host = encode_host("127.0.0.1:1")
    fields = {
        "topic": "t", "queue_id": 0, "queue_offset": 0, "physical_offset": store.log.max_offset,
        "body": b"odd", "properties": b"KEYS\x01odd\x02", "born_timestamp": 1, "born_host": host,
        "store_timestamp": store.queues.store_time_at("t", 0, 2), "store_host": host,
    }  # fmt: skip
    raw = encode_record(**(fields | odd))
    end, path = store.log.max_offset, last_file(tmp_path / "store")
    store.abandon()
    with path.open("r+b") as file:
        file.seek(end)
        file.write(raw)
    store = opened()
    assert store.log.max_offset == end + len(raw)
    fill(store, message, 2, 3)
    assert bodies(store) == expected(5)
    await stop(store)
    assert bodies(opened()) == expected(5)
    assert not (tmp_path / "up").exists()
    assert not (tmp_path / "store" / "up").exists()


def test_a_delay_noted_while_the_clock_was_set_back_outlives_a_kill(opened, message, clock):
    """Store times never go back, so that the record itself says a time of the clock that was ahead."""
    store = opened()
    clock.jump(3 * 3600)
    store.writes.put(message("t"))
    clock.jump(-3 * 3600)
    due = [clock.now_ms() + 5000] * 3
    for _ in due:
        store.writes.put(message("SCHEDULE_TOPIC_XXXX", 1, DELAY="2"))
    store.dispatch.now()
    assert [code for _, _, code in store.reads.entries("SCHEDULE_TOPIC_XXXX", 1, 0, 9)] == due
    store.abandon()
    store = opened()
    assert store.recovered.records == 4
    assert [code for _, _, code in store.reads.entries("SCHEDULE_TOPIC_XXXX", 1, 0, 9)] == due
