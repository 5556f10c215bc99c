from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.messages.addresses import encode_host
from mqframe.core.storage.damage import (
    RECORD_BYTES_MIN,
    bridge,
    damaged_end,
    has_empty_page,
    last_data,
    next_good,
)
from mqframe.core.storage.log_scan import has_empty_sector, is_blank, read_record, scan
from mqframe.core.storage.record import MAGIC_BLANK, encode_record
from mqframe.core.storage.zeros import PIECE_BYTES

HOST = encode_host("127.0.0.1:10911")
BASE = 8192


class File:
    """A log file in memory, all of which may hold data."""

    def __init__(self, raw):
        self.view = memoryview(raw)

    def data_from(self, at):
        return [(at, len(self.view))]


def record(at, *, body=b"body", stored=77, offset=0, topic="t", properties=b"TAGS\x01a\x02"):
    return encode_record(
        topic=topic,
        queue_id=0,
        queue_offset=offset,
        physical_offset=BASE + at,
        body=body,
        properties=properties,
        born_timestamp=1,
        born_host=HOST,
        store_timestamp=stored,
        store_host=HOST,
    )


def log_of(*bodies, size=4096, **more):
    """A file of records, one for each body, and where each starts; the last place is the end."""
    raw, places = bytearray(), [0]
    for number, body in enumerate(bodies):
        raw += record(len(raw), body=body, offset=number, **more)
        places.append(len(raw))
    return raw + bytes(size - len(raw)), places


@pytest.mark.parametrize("byte", range(0, 140, 3))
def test_the_next_record_is_found_whatever_byte_is_wrong(byte):
    raw, places = log_of(b"a" * 50, b"b" * 50, b"c" * 50)
    raw[places[1] + byte] ^= 0xFF
    assert next_good(File(raw), BASE, places[1], 77) == places[2]


def test_a_record_within_a_body_is_none_while_the_head_is_sound():
    inner = record(88, body=b"forged")
    raw, places = log_of(inner, b"real")
    raw[60] ^= 1  # in the head of the outer one, not in its size
    assert read_record(raw, 0, BASE) is not None  # nothing guards that field
    raw[120] ^= 1
    assert next_good(File(raw), BASE, 0, 77) == places[1]


def test_records_that_are_older_than_the_one_before_are_left_over():
    raw, places = log_of(b"new")
    stale = record(places[1] + 100, stored=76)
    raw[places[1] + 100 : places[1] + 100 + len(stale)] = stale
    raw[places[1]] = 1
    assert next_good(File(raw), BASE, places[1], 77) is None
    assert next_good(File(raw), BASE, places[1], 76) == places[1] + 100


def test_the_blank_end_counts_where_it_says_the_bytes_that_are_left():
    raw, places = log_of(b"x")
    end = places[1] + 200
    raw[places[1]] = 1
    raw[end : end + 8] = struct.pack(">ii", 4096 - end, MAGIC_BLANK)
    assert next_good(File(raw), BASE, places[1], 0) == end
    raw[end : end + 8] = struct.pack(">ii", 4095 - end, MAGIC_BLANK)
    assert next_good(File(raw), BASE, places[1], 0) is None


def test_nothing_follows():
    raw, places = log_of(b"x")
    assert next_good(File(raw), BASE, places[1], 0) is None


@pytest.mark.parametrize("shift", range(-8, 6))
def test_a_record_is_found_behind_many_zeros_and_across_the_border_of_pieces(shift):
    first = record(0)
    place = len(first) + 3 * PIECE_BYTES + shift
    raw = bytearray(place + 4096)
    raw[: len(first)] = first
    raw[10] ^= 1
    raw[place - 200] = 1  # no piece is passed over as zeros
    behind = record(place, body=b"far away")
    raw[place : place + len(behind)] = behind
    assert next_good(File(raw), BASE, 0, 0) == place
    assert next_good(File(raw), BASE, len(first), 0) == place
    assert last_data(File(raw), 0) == place + len(behind)


def test_the_first_of_records_of_both_kinds_is_the_next():
    raw = bytearray(4096)
    later, places = record(600), [300, 600]
    earlier = record(300, topic="t" * 200)
    assert earlier[4:8] != later[4:8]
    for place, each in zip(places, (earlier, later), strict=True):
        raw[place : place + len(each)] = each
    raw[0] = 1
    assert next_good(File(raw), BASE, 0, 0) == 300


@pytest.mark.parametrize("mask", [0x01, 0x10, 0x55])
@pytest.mark.parametrize("byte", [0, 2, 3, 5, 30, 86, 100, 600])
def test_a_whole_last_record_with_a_wrong_byte_is_damage(byte, mask):
    raw, places = log_of(b"a", b"b" * 700)
    raw[places[1] + byte] ^= mask
    assert damaged_end(File(raw), places[1], BASE + places[1]) == places[2]


@pytest.mark.parametrize("sector", [1, 2])
def test_a_last_record_that_lacks_a_sector_is_torn(sector):
    raw, places = log_of(b"a", b"b" * 1200)
    raw[512 * sector : 512 * sector + 512] = bytes(512)
    assert damaged_end(File(raw), places[1], BASE + places[1]) is None


def test_a_last_record_that_lacks_its_first_sector_is_torn():
    raw, places = log_of(b"a", b"b" * 1200)
    raw[places[1] : 512] = bytes(512 - places[1])
    assert damaged_end(File(raw), places[1], BASE + places[1]) is None


@pytest.mark.parametrize("lost", [1, 5, 20])
def test_a_last_record_without_its_last_bytes_is_torn(lost):
    raw, places = log_of(b"a", b"b" * 20)
    raw[places[2] - lost : places[2]] = bytes(lost)
    assert damaged_end(File(raw), places[1], BASE + places[1]) is None


def test_zeros_are_the_end():
    raw, places = log_of(b"a")
    assert damaged_end(File(raw), places[1], BASE + places[1]) is None
    assert last_data(File(raw), places[1]) == places[1]
    assert last_data(File(raw), 0) == places[1]


def test_empty_sectors_and_pages():
    raw = bytearray(b"\1" * 3 * 4096)
    assert not has_empty_sector(memoryview(raw), 5, len(raw))
    raw[512:1024] = bytes(512)
    assert has_empty_sector(memoryview(raw), 600, 700)
    assert not has_empty_sector(memoryview(raw), 5, 512)
    assert not has_empty_page(memoryview(raw), 0, len(raw))
    raw[4096:8192] = bytes(4096)
    assert has_empty_page(memoryview(raw), 5, len(raw))
    assert not has_empty_page(memoryview(raw), 4097, len(raw))
    assert not has_empty_page(memoryview(raw), 5, 8191)


@given(st.integers(RECORD_BYTES_MIN, 400), st.binary(min_size=400, max_size=400))
def test_a_bridge_is_passed_over(size, junk):
    first = record(0)
    at, end = len(first), len(first) + size
    raw = bytearray(first + junk[:size] + record(end, body=b"behind") + bytes(50))
    for place, data in bridge(memoryview(raw), BASE, at, end, 77):
        raw[place : place + len(data)] = data
    found = list(scan(raw, BASE))
    assert [(each.physical_offset, each.has_queue_entry) for each in found] == [
        (BASE, True),
        (BASE + at, False),
        (BASE + end, True),
    ]
    assert not found[1].is_indexed
    assert found[1].store_timestamp == 77


def test_a_bridge_to_the_end_of_a_file_is_its_blank_end():
    raw, places = log_of(b"a")
    for place, data in bridge(memoryview(raw), BASE, places[1], 4096, 77):
        raw[place : place + len(data)] = data
    assert is_blank(raw, places[1])
    assert struct.unpack_from(">i", raw, places[1]) == (4096 - places[1],)
