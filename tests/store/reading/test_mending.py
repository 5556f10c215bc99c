"""A damaged queue entry that a read meets is put right from the log, and never served as garbage."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from mqframe.core.storage.record import decode_records
from mqframe.store.queues.consume_queue import ENTRY, FILLER

COUNT = 300
PLACES = [("a", 0), ("a", 1), ("b", 0)]
SMALL = {"commit_log_file_bytes": 8192, "queue_file_bytes": 40 * ENTRY.size}


@pytest.fixture(params=["map", "cold", "bulk"])
def served(request, opened, message, tmp_path):
    """A store with `COUNT` messages over three queues, opened again; reads wait for the disk, or not."""

    # "bulk": the messages of a queue lie one behind the other in the log.
    def place(n):
        return PLACES[n * 3 // COUNT] if request.param == "bulk" else PLACES[n % 3]

    store = opened(**SMALL)
    for n in range(COUNT):
        store.writes.put(message(*place(n), b"%d" % n, TAGS="t"))
    store.dispatch.now()
    expected = {p: [b"%d" % n for n in range(COUNT) if place(n) == p] for p in PLACES}
    asyncio.run(store.stop())
    store = opened(**SMALL)
    return store, expected, request.param == "cold", tmp_path / "store/consumequeue"


def everything(store, place, cold, most=32):
    found, offset = [], 0
    while offset < store.queues.max_offset(*place):
        got = (
            asyncio.run(store.reads.get_cold(*place, offset, most))
            if cold
            else store.reads.get(*place, offset, most)
        )
        for part in got.parts:
            for record in decode_records(part):
                assert (record.topic, record.queue_id) == place
                found.append((record.queue_offset, record.body))
        assert got.next_offset > offset
        offset = got.next_offset
    return found


def path_of(root: Path, place, number: int) -> Path:
    return sorted((root / place[0] / str(place[1])).iterdir())[number]


def damage(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


@pytest.mark.parametrize("seed", range(8))
def test_no_flipped_bit_costs_or_changes_a_message(served, seed):
    store, expected, cold, root = served
    chance = random.Random(seed)
    for place in PLACES:
        for _ in range(6):
            path = path_of(root, place, chance.randrange(3))
            # The tags code, the last 8 bytes, is not looked at by reads without a filter.
            at = chance.randrange(20) * 20 + chance.randrange(12)
            damage(path, at, bytes([path.read_bytes()[at] ^ 1 << chance.randrange(8)]))
        assert everything(store, place, cold) == list(enumerate(expected[place]))
        assert everything(store, place, False, most=1) == list(enumerate(expected[place]))


@pytest.mark.parametrize("start", [0, 100, 780])
@pytest.mark.parametrize("data", [bytes(512), b"\xff" * 512, b"\x00\x00\x01" * 171], ids=["0", "ff", "001"])
def test_no_lost_page_costs_or_changes_a_message(served, start, data):
    store, expected, cold, root = served
    for place in PLACES:
        path = path_of(root, place, 1)
        room = 800 - start
        damage(path, start, data[:room])
        damage(path_of(root, place, 2), 0, data[: 512 - min(room, 512)] or b"")
        assert everything(store, place, cold) == list(enumerate(expected[place]))
    assert store.damage.counters()["damagedEntries"] != "0"


def test_no_page_of_another_queue_is_served(served):
    store, expected, cold, root = served
    one, two = path_of(root, ("a", 0), 1), path_of(root, ("b", 0), 1)
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    for place in PLACES:
        assert everything(store, place, cold) == list(enumerate(expected[place]))


def test_by_tag_and_by_record_a_lost_page_costs_nothing(served):
    store, expected, _, root = served
    damage(path_of(root, ("a", 0), 1), 0, bytes(400))
    code = store.reads.entries("a", 0, 0, 1)[0][2]
    for filters in ({"codes": {code}}, {"records": lambda record: True}):
        found, offset = [], 0
        while offset < 100:
            got = store.reads.get("a", 0, offset, 32, **filters)
            found += [m.body for part in got.parts for m in decode_records(part)]
            assert got.next_offset > offset
            offset = got.next_offset
        assert found == expected["a", 0]
        damage(path_of(root, ("a", 0), 2), 3 * 20 + 11, b"\x07")


def test_who_takes_entries_gets_right_ones(served):
    store, _, _, root = served
    before = store.reads.entries("a", 0, 40, 40)
    for at, data in ((0, bytes(100)), (305, b"\x55"), (700, b"\x7f" * 30)):
        damage(path_of(root, ("a", 0), 1), at, data)
    assert store.reads.entries("a", 0, 40, 40) == before


def test_what_has_no_record_becomes_a_filler_and_is_told_once(served, caplog):
    store, expected, cold, root = served
    # The last one of a read, for of neighbours in the log only that one is compared.
    entry = store.reads.entries("a", 0, 71, 1)[0]
    log = sorted((root.parent / "commitlog").iterdir())[entry[0] // 8192]
    damage(log, entry[0] % 8192 + 20, (1 << 40).to_bytes(8, "big"))  # it says another queue offset
    damage(log, entry[0] % 8192 + 4, b"\x7f")  # and is no record
    found = everything(store, ("a", 0), cold)
    assert found == [pair for pair in enumerate(expected["a", 0]) if pair[0] != 71]
    assert path_of(root, ("a", 0), 1).read_bytes()[620:640] == FILLER
    counters = store.damage.counters()
    assert (counters["damagedEntries"], counters["lostEntries"]) == ("1", "1")
    told = store.damage.counters()
    assert (told["damagedEntries"], told["lostEntries"]) == ("1", "1")
    assert everything(store, ("a", 0), cold) == found
    assert caplog.text.count("damaged queue entries") == 1


@pytest.mark.parametrize("wrong", [1 << 40, 72, 0, -1 << 63])
def test_a_record_that_names_another_place_is_served_where_its_queue_lists_it(served, caplog, wrong):
    store, expected, cold, root = served
    entry = store.reads.entries("a", 0, 71, 1)[0]
    log = sorted((root.parent / "commitlog").iterdir())[entry[0] // 8192]
    damage(log, entry[0] % 8192 + 20, wrong.to_bytes(8, "big", signed=True))
    for _ in range(2):
        assert everything(store, ("a", 0), cold) == list(enumerate(expected["a", 0]))
    told = store.damage.counters()
    assert (told["damagedEntries"], told["damagedHeads"], told["lostHeads"]) == ("0", "1", "0")
    assert caplog.text.count("the head of a record is damaged") == 1


async def test_right_entries_of_a_delay_level_keep_the_time_that_only_they_know(
    opened, message, clock, tmp_path
):
    topic, level = "SCHEDULE_TOPIC_XXXX", 4
    store = opened()
    clock.jump(3 * 3600)
    store.writes.put(message("t"))
    clock.jump(-3 * 3600)  # store times stand still from now on
    for _ in range(8):
        store.writes.put(message(topic, level, DELAY=str(level + 1)))
    store.dispatch.now()
    before = store.reads.entries(topic, level, 0, 8)
    await store.stop()
    store = opened()
    wrong = (2, 5)
    for at in wrong:
        damage(path_of(tmp_path / "store/consumequeue", (topic, level), 0), at * 20, b"\x7f" * 20)
    found = store.reads.entries(topic, level, 0, 8)
    assert [entry[:2] for entry in found] == [entry[:2] for entry in before]
    assert [entry for at, entry in enumerate(found) if at not in wrong] == [
        entry for at, entry in enumerate(before) if at not in wrong
    ]
