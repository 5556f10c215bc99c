"""Whether what was read is what queue entries stand for."""

from __future__ import annotations

import pytest

from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.record import encode_record
from mqframe.store.files.descriptors import Descriptors
from mqframe.store.queues.choosing import Chosen
from mqframe.store.queues.consume_queue import ENTRY, ConsumeQueue
from mqframe.store.reading.fitting import Damaged, checked, fit

HOST = b"\x7f\0\0\1\0\0\x2a\x9f"


def record(offset: int, physical: int, topic: str = "t", queue_id: int = 3) -> bytes:
    return encode_record(
        topic=topic, queue_id=queue_id, queue_offset=offset, physical_offset=physical, body=b"b",
        properties=b"", born_timestamp=1, born_host=HOST, store_timestamp=1, store_host=HOST,
    )  # fmt: skip


SIZE = len(record(0, 0))
CHOSEN = Chosen(GetStatus.FOUND, 8, [(100, 100 + 2 * SIZE), (900, 900 + SIZE)], 3, 3 * SIZE, [1, 2])
PLACES = [100, 100 + SIZE, 900]
ENTRIES = b"".join(ENTRY.pack(physical, SIZE, 0) for physical in PLACES)


@pytest.fixture
def queue(tmp_path):
    return ConsumeQueue(tmp_path, "t", 3, 200, Descriptors(8))


def parts(**more) -> list[bytes]:
    first, second, third = (record(5 + n, physical, **more) for n, physical in enumerate(PLACES))
    return [first + second, third]


def test_records_in_their_places_fit(queue) -> None:
    assert fit(queue, ENTRIES, 5, CHOSEN, parts())


@pytest.mark.parametrize("more", [{"topic": "u"}, {"queue_id": 2}])
def test_those_of_another_queue_do_not(queue, more) -> None:
    assert not fit(queue, ENTRIES, 5, CHOSEN, parts(**more))
    assert not fit(queue, ENTRIES, 5, CHOSEN, [parts()[0], parts(**more)[1]])


def test_nor_those_of_another_offset_nor_missing_ones(queue) -> None:
    assert not fit(queue, ENTRIES, 6, CHOSEN, parts())
    assert not fit(queue, ENTRIES, 5, CHOSEN, parts()[:1])
    assert not fit(queue, ENTRIES, 5, CHOSEN, [parts()[0], b""])


def test_a_fetch_gives_records_of_its_queue_only(queue) -> None:
    log = {100: record(5, 100), 900: record(7, 901)}
    fetch = checked(lambda start, size: log.get(start), queue)
    assert fetch(100, SIZE) == log[100]
    assert fetch(500, SIZE) is None
    for start, size in ((900, SIZE), (100, SIZE + 1)):
        with pytest.raises(Damaged):
            fetch(start, size)
