from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.storage.property_crc import (
    PROPERTY_CRC_BYTES,
    ROOM,
    agrees,
    fill_in,
    property_crc,
    with_room,
    without_crc,
)


def test_the_form_of_the_reference() -> None:
    value = crc32(b"record") & 0x7FFFFFFF
    digits, rest = "", value
    for _ in range(10):  # MessageDecoder.createCrc32
        digits, rest = digits + str(rest % 10), rest // 10
    assert property_crc(b"record") == b"__CRC32#\x01" + digits.encode() + b"\x02"
    assert len(property_crc(b"")) == PROPERTY_CRC_BYTES == len(ROOM)


@given(st.lists(st.binary(min_size=1, max_size=60), min_size=1), st.integers(0, 1 << 40))
def test_records_are_filled_in_one_by_one(contents: list[bytes], first: int) -> None:
    places = [first]
    for each in contents:
        places.append(places[-1] + len(each) + PROPERTY_CRC_BYTES)
    filled = fill_in(b"".join(each + ROOM for each in contents), places)
    assert filled == b"".join(each + property_crc(each) for each in contents)


@pytest.mark.parametrize("byte", range(26))
def test_any_wrong_bit_is_seen(byte: int) -> None:
    record = b"record" + property_crc(b"record")
    assert agrees(record)
    damaged = bytearray(record)
    damaged[byte] ^= 1
    assert not agrees(bytes(damaged))


def test_records_without_one_are_not_checked() -> None:
    assert agrees(b"a record with other properties at its end, KEYS\x01k\x02")
    assert agrees(b"a property that ends with ten digits\x010123456789\x02")
    assert agrees(b"")


@pytest.mark.parametrize(
    ("given_text", "left"),
    [
        ("", ""),
        ("TAGS\x01a\x02", "TAGS\x01a\x02"),
        ("TAGS\x01a\x02__CRC32#\x010123456789\x02", "TAGS\x01a\x02"),
        ("__CRC32#\x010123456789\x02TAGS\x01a\x02", "TAGS\x01a\x02"),
        ("TAGS\x01a\x02__CRC32#\x010123456789", "TAGS\x01a"),
        ("x__CRC32#\x01kept\x02", "x__CRC32#\x01kept\x02"),
    ],
)
def test_that_of_another_record_goes(given_text: str, left: str) -> None:
    assert without_crc(given_text) == left


def test_room_is_a_property_of_its_own() -> None:
    assert with_room("TAGS\x01a\x02") == with_room("TAGS\x01a") == "TAGS\x01a\x02" + ROOM.decode()
    assert with_room("") == ROOM.decode()
