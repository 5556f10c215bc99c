"""What is read of requests without serving them."""

from __future__ import annotations

import struct
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from mqframe_quotas.asked import Asked, Way, asked_by, count_lengths, number

from mqframe.core.messages.batch import encode_element

SEND, SEND_V2, SEND_BATCH, PULL, LITE_PULL, HEARTBEAT, POP, ACK = 10, 310, 320, 11, 361, 34, 200050, 200051


def test_what_quotas_are_about_is_found_by_code() -> None:
    found = asked_by([SEND, SEND_V2, SEND_BATCH, PULL, LITE_PULL, HEARTBEAT, ACK, 999_999])
    assert found == {
        SEND: Asked(Way.SEND, "topic", "producerGroup"),
        SEND_V2: Asked(Way.SEND, "b", "a"),
        SEND_BATCH: Asked(Way.SEND, "b", "a", batch=True),
        PULL: Asked(Way.PULL, "topic", "consumerGroup"),
        LITE_PULL: Asked(Way.PULL, "topic", "consumerGroup"),
        HEARTBEAT: Asked(Way.HEARTBEAT),
    }


def test_numbers_that_are_none_are_for_others_to_refuse() -> None:
    fields = {"a": "12", "b": "-1", "c": "x", "d": "9" * 30, "e": "٣"}
    assert [number(fields, name, 7) for name in "abcdef"] == [12, 7, 7, 7, 7, 7]


@given(st.lists(st.integers(4, 50), max_size=20), st.data())
def test_records_are_counted_wherever_the_parts_end(sizes: list[int], data: st.DataObject) -> None:
    whole = b"".join(struct.pack(">i", size) + b"x" * (size - 4) for size in sizes)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    parts = [whole[a:b] for a, b in pairwise([0, *cuts, len(whole)])]
    assert count_lengths(parts) == len(sizes)
    assert count_lengths([memoryview(whole)]) == len(sizes)


def test_a_batch_has_its_messages() -> None:
    body = encode_element(b"one", b"") + encode_element(b"", b"UNIQ_KEY\x01A\x02")
    assert count_lengths([body]) == 2


def test_what_is_no_record_ends_the_count() -> None:
    assert count_lengths([b"\0\0\0\0" * 1000]) == 1
    assert count_lengths([]) == count_lengths([b""]) == 0
