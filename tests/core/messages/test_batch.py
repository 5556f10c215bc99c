from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import REQUESTS, Recorded
from strategies import bodies, ints, properties

from mqframe.core.errors import BodyError
from mqframe.core.messages.batch import ELEMENT_OVERHEAD_BYTES, decode_batch, encode_element
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
