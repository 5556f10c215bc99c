"""Which entries agree with which records, and which are looked at."""

from __future__ import annotations

import pytest

from mqframe.core.messages.java_hash import java_hash
from mqframe.core.storage.agreement import is_of, lists, place_of, samples, samples_each
from mqframe.core.storage.log_scan import LogRecord
from mqframe.core.storage.record import encode_record

RECORD = LogRecord(700, 150, "t", 3, 42, 0, 1000, "TAGS\x01red\x02")
ENTRY = (700, 150, java_hash("red"))


def test_an_entry_lists_its_record() -> None:
    assert lists(ENTRY, RECORD, "t", 3, 42)
    assert not lists(None, RECORD, "t", 3, 42)
    assert not lists(ENTRY, None, "t", 3, 42)


@pytest.mark.parametrize("entry", [(701, 150, ENTRY[2]), (700, 151, ENTRY[2]), (700, 150, 0)])
def test_another_entry_does_not(entry) -> None:
    assert not lists(entry, RECORD, "t", 3, 42)


@pytest.mark.parametrize("place", [("u", 3, 42), ("t", 2, 42), ("t", 3, 41)])
def test_an_entry_at_another_place_does_not(place) -> None:
    assert not lists(ENTRY, RECORD, *place)


def test_a_record_that_no_queue_lists_has_no_entry() -> None:
    assert not lists(ENTRY, RECORD._replace(sys_flag=4), "t", 3, 42)


def test_the_time_in_the_delay_topic_is_not_compared() -> None:
    delayed = RECORD._replace(topic="SCHEDULE_TOPIC_XXXX")
    assert lists((700, 150, 123_456), delayed, "SCHEDULE_TOPIC_XXXX", 3, 42)


def test_samples_hold_first_and_last() -> None:
    assert samples(5, 9, 10) == [5, 6, 7, 8]
    assert samples(0, 1000, 5) == [0, 249, 499, 749, 999]
    assert samples(10, 1000, 1) == [999]
    assert samples(7, 7, 5) == []


def test_samples_are_bounded_in_all() -> None:
    assert [samples_each(n, 20_000, 64) for n in (0, 1, 1000, 10_000, 50_000)] == [64, 64, 20, 2, 1]


@pytest.mark.parametrize("host", [b"\x7f\0\0\1\0\0\x2a\x9f", bytes(16) + b"\0\0\x2a\x9f"])
@pytest.mark.parametrize("topic", ["topic", "t" * 200])
def test_what_a_record_names(topic, host) -> None:
    raw = b"\xff" * 7 + encode_record(
        topic=topic, queue_id=3, queue_offset=42, physical_offset=700, body=b"body", properties=b"",
        born_timestamp=1, born_host=host, store_timestamp=2, store_host=host,
    )  # fmt: skip
    assert place_of(raw, 7) == (len(raw) - 7, 3, 42, 700)
    assert is_of(raw, 7, topic)
    assert not is_of(raw, 7, topic[:-1])
    assert not is_of(raw, 7, topic + "x")
    assert place_of(raw, len(raw) - 10) is None
    assert not is_of(raw, len(raw) - 10, topic)
