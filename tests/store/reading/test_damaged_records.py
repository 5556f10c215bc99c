"""Records that went bad after they were checked last, met by a read."""

from __future__ import annotations

import pytest

from mqframe.core.storage.record import decode_records
from mqframe.store.upkeep.quarantine import Quarantine


@pytest.fixture
def stopped(opened, message, tmp_path):
    """Makes a store of 40 messages, stopped in good order, and damages some bodies; where records lie."""

    async def make(*damaged):
        store = opened()
        places = [
            store.writes.put(message("t", 0, b"%d|" % n * 100, TAGS="ab"[n % 2])).commit_log_offset
            for n in range(40)
        ]
        store.dispatch.now()
        await store.stop()
        (path,) = (tmp_path / "store/commitlog").iterdir()
        raw = bytearray(path.read_bytes())
        for number in damaged:
            raw[places[number] + 120] ^= 1
        path.write_bytes(raw)
        return places

    return make


def damage(store, *numbers):
    """Flip a bit of some bodies behind the back of a store that runs."""
    (path,) = (store.settings.directory / "commitlog").iterdir()
    with path.open("r+b") as log:
        for physical, _, _ in (store.reads.entries("t", 0, number, 1)[0] for number in numbers):
            log.seek(physical + 120)
            (byte,) = log.read(1)
            log.seek(physical + 120)
            log.write(bytes([byte ^ 1]))


def numbers(found):
    return [int(message.body.split(b"|")[0]) for part in found.parts for message in decode_records(part)]


@pytest.mark.parametrize("cold", [False, True])
@pytest.mark.parametrize("damaged", [(0,), (7,), (7, 8, 20), (39,)])
async def test_a_damaged_body_is_never_delivered_and_costs_itself_alone(
    opened, stopped, tmp_path, damaged, cold
):
    places = await stopped(*damaged)
    store = opened()
    assert store.recovered.set_aside == ()

    async def read():
        return await store.reads.get_cold("t", 0, 0, 40) if cold else store.reads.get("t", 0, 0, 40)

    whole = [n for n in range(40) if n not in damaged]
    assert numbers(await read()) == whole
    assert numbers(await read()) == whole
    told = store.damage.counters()
    assert (told["setAsideMessages"], told["setAsideQueues"]) == (str(len(damaged)), "t:0")
    store.abandon()
    store = opened()
    assert numbers(store.reads.get("t", 0, store.queues.min_offset("t", 0), 40)) == whole
    assert store.queues.max_offset("t", 0) == 40
    report = next(iter(Quarantine(tmp_path / "store/quarantine").reports()))
    assert report.start == places[damaged[0]]
    assert report.queues[0].start == damaged[0]


async def test_by_tags_too(opened, stopped):
    await stopped(6)
    store = opened()
    code = next(code for _, _, code in store.reads.entries("t", 0, 0, 1))
    assert numbers(store.reads.get("t", 0, 0, 40, codes={code})) == [n for n in range(0, 40, 2) if n != 6]


def test_what_this_process_wrote_is_not_checked_again(opened, message):
    store = opened()
    store.writes.put(message("t", 0, b"0|"))
    store.dispatch.now()
    store.reads.lookup._repair = None  # whoever called it would fail
    assert numbers(store.reads.get("t", 0, 0, 9)) == [0]


@pytest.mark.parametrize("cold", [False, True])
async def test_what_a_read_has_checked_is_not_checked_again(opened, stopped, cold):
    await stopped()
    store = opened()

    async def read(offset, count):
        if cold:
            return numbers(await store.reads.get_cold("t", 0, offset, count))
        return numbers(store.reads.get("t", 0, offset, count))

    assert await read(10, 10) == list(range(10, 20))
    damage(store, 15, 25)
    assert await read(12, 8) == list(range(12, 20)), "as damaged as memory may be"
    assert await read(12, 20) == [n for n in range(12, 32) if n not in (15, 25)]


async def test_what_a_filter_left_out_was_not_checked(opened, stopped):
    await stopped()
    store = opened()
    code = next(code for _, _, code in store.reads.entries("t", 0, 0, 1))
    assert numbers(store.reads.get("t", 0, 0, 40, codes={code})) == list(range(0, 40, 2))
    damage(store, 7)
    assert numbers(store.reads.get("t", 0, 0, 40)) == [n for n in range(40) if n != 7]
