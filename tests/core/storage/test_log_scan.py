from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.messages.addresses import encode_host
from mqframe.core.storage.log_scan import (
    LogRecord,
    first_unsound,
    is_blank,
    read_record,
    read_records,
    record_end,
    scan,
)
from mqframe.core.storage.property_crc import ROOM, fill_in
from mqframe.core.storage.record import MAGIC_BLANK, encode_record

V4, V6 = encode_host("127.0.0.1:10911"), encode_host("[::1]:7")


def record(
    at, body=b"body", properties=b"TAGS\x01a\x02", topic="t", born=V4, store=V4, sys_flag=0, queue_id=2
):
    return encode_record(
        topic=topic,
        queue_id=queue_id,
        queue_offset=5,
        physical_offset=at,
        body=body,
        properties=properties,
        born_timestamp=1,
        born_host=born,
        store_timestamp=77,
        store_host=store,
        sys_flag=sys_flag,
    )


@pytest.mark.parametrize("born", [V4, V6])
@pytest.mark.parametrize("store", [V4, V6])
@pytest.mark.parametrize("topic", ["t", "%RETRY%" + "g" * 150])
def test_fields(born, store, topic):
    raw = record(1000, topic=topic, born=born, store=store)
    found = read_record(b"xx" + raw + b"\0" * 9, 2, 1000)
    assert found is not None
    assert (found.topic, found.queue_id, found.queue_offset, found.store_timestamp) == (topic, 2, 5, 77)
    assert (found.properties, found.size, found.end) == ("TAGS\x01a\x02", len(raw), 1000 + len(raw))


@pytest.mark.parametrize(
    ("sys_flag", "listed", "indexed"),
    [(0, True, True), (4, False, True), (8, True, True), (12, False, False), (0x301, True, True)],
)
def test_transaction_types(sys_flag, listed, indexed):
    found = read_record(record(0, sys_flag=sys_flag), 0, 0)
    assert found is not None
    assert (found.has_queue_entry, found.is_indexed) == (listed, indexed)


@pytest.mark.parametrize(("topic", "queue_id"), [("../../up", 0), ("x" * 300, 0), ("", 0), ("t", -1)])
def test_a_record_that_no_queue_can_list_is_still_one_and_indexed(topic, queue_id):
    found = read_record(record(0, topic=topic, queue_id=queue_id), 0, 0)
    assert found is not None
    assert (found.topic, found.has_queue_entry, found.is_indexed) == (topic, False, True)


def test_wrong_place_and_wrong_body():
    raw = record(1000)
    assert read_record(raw, 0, 1001) is None
    broken = raw.replace(b"body", b"bodi")
    assert read_record(broken, 0, 1000) is None
    assert read_record(broken, 0, 1000, crc=False) is not None


@given(st.integers(0, 150), st.integers(0, 255))
def test_damage_never_raises(at, byte):
    raw = bytearray(record(0))
    raw[at % len(raw)] = byte
    found = read_record(bytes(raw), 0, 0)
    assert found is None or found.size == len(raw)


KINDS = st.sampled_from(
    [
        {},
        {"body": b""},
        {"body": b"x" * 5000},
        {"properties": b""},
        {"properties": b"TAGS\x01\xc3\xa4"},
        {"properties": b"TAGS\x01\xff"},
        {"properties": b"TAGS\x01a\0\x02"},
        {"properties": b"\0" * 1200},
        {"properties": ROOM},
        {"topic": "g" * 150},
        {"born": V6},
        {"store": V6},
        {"sys_flag": 12},
    ]
)


@given(
    st.lists(KINDS, max_size=8),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=2),
    st.booleans(),
    st.integers(0, 300),
)
def test_many_records_at_once_are_those_read_one_by_one(kinds, damages, crc, cut):
    raw = bytearray(b"head")
    for kind in kinds:
        encoded = record(1000 + len(raw), **kind)
        raw += fill_in(encoded, [0, len(encoded)]) if kind.get("properties") == ROOM else encoded
    for at, byte in damages:
        raw[at % len(raw)] = byte
    stop = max(4, len(raw) - cut)
    one_by_one, at = [], 4
    while at < stop and (found := read_record(raw, at, 1000 + at, crc=crc)) is not None:
        one_by_one.append(found)
        at += found.size
    together = read_records(bytes(raw), 4, 1000, stop, crc=crc)
    assert together == one_by_one
    assert all(type(each) is LogRecord for each in together)


@given(st.binary(max_size=200))
def test_noise_never_raises(noise):
    assert read_record(noise, 0, 0) is None
    assert list(scan(noise, 0)) == []


@given(st.integers(0, 200))
def test_cut_records_are_none(cut):
    raw = record(0)
    assert (read_record(raw[:cut], 0, 0) is None) == (cut < len(raw))


def test_scan_and_record_end():
    one = record(4096)
    two = record(4096 + len(one), body=b"other")
    blank = struct.pack(">ii", 500, MAGIC_BLANK)
    file = one + two + blank + b"\0" * 492
    assert [found.physical_offset for found in scan(file, 4096)] == [4096, 4096 + len(one)]
    assert [found.end for found in scan(file, 4096, len(one))] == [4096 + len(one) + len(two)]
    assert [found.end for found in scan(file, 4096, 0, len(one))] == [4096 + len(one)]
    assert is_blank(file, len(one) + len(two))
    assert not is_blank(file, 0)
    assert not is_blank(blank, 4)
    whole = len(one) + len(two)
    assert record_end(file, 0, len(one)) == len(one)
    assert record_end(file, 0, len(one) - 1) == 0
    assert record_end(file, len(one), whole + 5) == whole
    assert record_end(file, 0, len(file)) == len(file)


def test_damage_within_whole_records_is_found_by_their_crcs():
    whole, places = b"", []
    for number in range(9):
        places.append(1000 + len(whole))
        born = V6 if number == 4 else V4
        topic = "t" * 200 if number == 5 else "t"
        whole += record(places[-1], body=b"%d" % number * 50, born=born, topic=topic)
    assert first_unsound(whole, 1000) is None
    assert first_unsound(b"", 1000) is None
    assert first_unsound(whole, 1001) == 1001
    for number, place in enumerate(places):
        for byte in (0, 1, 2, 3, 5, 8, 30, 86, 130):
            damaged = bytearray(whole)
            damaged[place - 1000 + byte] ^= 0x21
            guarded = (number, byte) != (4, 86)  # with an IPv6 host that is the count of retries
            assert first_unsound(damaged, 1000) == (place if guarded else None), (number, byte)
    assert first_unsound(whole[:-1], 1000) == places[-1]


@pytest.mark.parametrize("place", [0, 100, 400])
def test_a_record_that_lacks_a_sector_of_its_properties_is_none(place):
    properties = b"K\x01" + b"v" * 1500 + b"\x02"
    raw = bytearray(bytes(place) + record(place, properties=properties) + bytes(600))
    assert read_record(raw, place, place) is not None
    raw[1024:1536] = bytes(512)
    assert read_record(raw, place, place) is None
    assert read_record(raw[place:], 0, place) is None
    assert read_record(raw, place, place, crc=False) is not None


def test_a_zero_within_properties_is_a_character_of_theirs():
    raw = record(0, properties=b"K\x01" + b"v" * 600 + b"\0\0" + b"v" * 600 + b"\x02")
    assert read_record(raw, 0, 0) is not None


@pytest.mark.parametrize("lost", [1, 5, 28])
def test_properties_that_lost_their_end_to_an_empty_page_are_found(lost):
    properties = b"KEYS\x01some long key of its own\x02"
    size = len(record(0, properties=properties))
    place = 8192 + lost - size  # the last bytes of the record are the first ones of a page
    damaged = record(place, properties=properties)[:-lost] + bytes(lost)
    assert first_unsound(damaged, place) == place


def test_with_a_crc_over_all_of_it_no_bit_of_a_record_goes_wrong_unseen():
    place = 1000
    plain = record(place, properties=b"KEYS\x01k\x02" + ROOM)
    guarded = fill_in(plain, (place, place + len(plain)))
    assert first_unsound(guarded, place) is None
    for byte in range(len(guarded)):
        for bit in range(8):
            damaged = bytearray(guarded)
            damaged[byte] ^= 1 << bit
            assert first_unsound(damaged, place) == place, (byte, bit)
            assert read_record(damaged, 0, place) is None, (byte, bit)
