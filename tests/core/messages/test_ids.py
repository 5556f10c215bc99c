from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_testing.manual_clock import ManualClock
from strategies import hosts

from mqframe.core.errors import FixError
from mqframe.core.messages.addresses import decode_host
from mqframe.core.messages.ids import UniqueIds, local_month_start_ms, offset_id, parse_offset_id

DAY_MS = 86_400_000


@given(hosts, st.integers(-(2**63), 2**63 - 1))  # a message of a broker gone wrong has an id, too
def test_offset_ids_survive(host: bytes, offset: int) -> None:
    text = offset_id(host, offset)
    assert len(text) in (32, 56)
    assert parse_offset_id(text) == (decode_host(host), offset)


def test_a_recorded_offset_id() -> None:
    assert parse_offset_id("7F000001000051AF0000000000001F98") == ("127.0.0.1:20911", 8088)


@pytest.mark.parametrize(
    "text", ["", "7F", "7F000001000051AF0000000000001F9", "x" * 32, "7F0000012345AABBCCDD00000001" + "0001"]
)
def test_what_is_no_offset_id_is_refused(text: str) -> None:
    with pytest.raises(FixError, match="message id"):
        parse_offset_id(text)


def test_unique_ids_hold_ip_process_salt_time_and_counter() -> None:
    clock = ManualClock(now_ms=10 * DAY_MS)
    ids = UniqueIds(clock, bytes([127, 0, 0, 1]), 0x12345, 0xAABBCCDD, lambda now: 0)
    first, second = ids.next(), ids.next()
    assert first == f"7F0000012345AABBCCDD{10 * DAY_MS:08X}0001"
    assert second[:-4] == first[:-4]
    assert second.endswith("0002")


def test_unique_ids_count_from_the_new_month_once_it_came() -> None:
    month = 30 * DAY_MS
    clock = ManualClock(now_ms=0)
    ids = UniqueIds(clock, bytes(4), 0, 0, lambda now: now // month * month)
    clock.advance(29 * 86_400)
    assert ids.next()[20:28] == f"{29 * DAY_MS:08X}"
    clock.advance(86_400 + 5)
    assert ids.next()[20:28] == f"{5000:08X}"


def test_many_unique_ids_are_as_one_by_one() -> None:
    many, one_by_one = (UniqueIds(ManualClock(), bytes(4), 7, 9, lambda now: 0) for _ in range(2))
    taken = [*many.take(0x10000), *many.take(3)]
    assert taken == [one_by_one.next() for _ in range(0x10003)]
    assert [one[-4:] for one in taken[0xFFFE:]] == ["FFFF", "0000", "0001", "0002", "0003"]


def test_unique_ids_differ() -> None:
    ids = UniqueIds(ManualClock(), bytes(16), 1, 1)
    made = {ids.next() for _ in range(5000)}
    assert len(made) == 5000
    assert {len(one) for one in made} == {56}


def test_month_start() -> None:
    now = 1_700_000_000_000
    start = local_month_start_ms(now)
    assert 0 <= now - start < 31 * DAY_MS + 3_600_000
    assert local_month_start_ms(start) == start
