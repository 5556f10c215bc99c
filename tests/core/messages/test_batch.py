from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import REQUESTS, Recorded
from strategies import bodies, ints, properties

from mqframe.core.errors import BodyError
from mqframe.core.messages.batch import ELEMENT_OVERHEAD_BYTES, decode_batch, encode_element, may_hold
from mqframe.core.messages.properties import decode_properties, encode_properties
from mqframe.core.wire.frame import FrameDecoder

RECORDED = [recorded for recorded in REQUESTS if recorded.facts["code"] == 320]


@given(st.lists(st.tuples(bodies, properties, ints), max_size=5))
def test_batches_survive(messages: list[tuple[bytes, dict[str, str], int]]) -> None:
    raw = b"".join(
        encode_element(body, encode_properties(pairs).encode(), flag) for body, pairs, flag in messages
    )
    read = [(bytes(b), decode_properties(str(p, "utf-8")), f) for f, b, p in decode_batch(raw)]
    assert read == messages


@pytest.mark.parametrize("recorded", RECORDED, ids=str)
def test_recorded_batches_are_read_and_written_the_same(recorded: Recorded) -> None:
    decoder = FrameDecoder()
    decoder.receive(recorded.raw)
    frame = decoder.next_frame()
    assert frame is not None
    elements = list(decode_batch(frame.body))
    assert len(elements) >= 2
    again = b"".join(encode_element(bytes(b), bytes(p), f) for f, b, p in elements)
    assert again == frame.body


@given(st.integers(1, 40))
def test_a_cut_batch_names_its_element(cut: int) -> None:
    raw = encode_element(b"a" * 30, b"x\x01y\x02") * 2
    with pytest.raises(BodyError, match="message 1 of the batch"):
        list(decode_batch(raw[:-cut]))


@given(st.binary(min_size=1, max_size=80))
def test_any_bytes_give_messages_or_a_body_error(data: bytes) -> None:
    with contextlib.suppress(BodyError):
        list(decode_batch(data))


def test_overhead() -> None:
    assert len(encode_element(b"", b"")) == ELEMENT_OVERHEAD_BYTES


WORDS = (b"DELAY\x01", b"TIMER_DEL")


@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"", b"x" * 100, b"x" * 600, b"DELAY\x01", b"TIMER_DEL" + b"x" * 700]),
            st.sampled_from(
                [b"", b"KEYS\x01MODEL\x02", b"DELAY\x013\x02", b"a\x01b\x02TIMER_DELAY_MS\x019\x02"]
            ),
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([b"", b"DEL"]),
)
def test_what_stands_in_properties_is_never_missed(
    messages: list[tuple[bytes, bytes]], common: bytes
) -> None:
    batch = b"".join(encode_element(body, own) for body, own in messages)
    if any(word in own for _, own in messages for word in WORDS):
        assert may_hold(batch, WORDS, common)
    elif all(len(body) >= 600 for body, _ in messages):
        assert not may_hold(batch, WORDS, common), "bodies of large messages are passed over"


def test_a_batch_that_is_no_whole_one_may_hold_anything() -> None:
    large = encode_element(b"x" * 600, b"a\x01b\x02")
    assert not may_hold(large + large, WORDS)
    assert may_hold((large + large)[:-1], WORDS)
    for behind in (b"x", b"\0" * 40, b"\xff" * 40, large[:21], large[:16] + b"\xff" * 30):
        assert may_hold(large + behind, WORDS)
    assert not may_hold(b"", WORDS)
    assert may_hold(b"DELAY\x01", WORDS)


@given(st.binary(max_size=80), st.integers(1, 30))
def test_whoever_looks_for_nothing_special_sees_all_batches(data: bytes, cut: int) -> None:
    large = encode_element(b"x" * 600, b"")
    for batch in (large + data, large[:-cut] + data, data):
        assert may_hold(batch, (b"",))
