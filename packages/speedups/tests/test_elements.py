"""Bodies of batch requests are the same, whoever makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_speedups import elements
from mqframe_speedups._native import encode_elements as natively
from mqframe_speedups.elements import encode_usual

from mqframe.core.messages.message import Message
from mqframe.core.sending.encoding import encode_elements
from mqframe.core.sending.request_reply import ReplyMessage

WORDS = st.text(max_size=5) | st.sampled_from(["", "KEYS", "a\x01b", "c\x02", "\u00e9", "\ud800"])
MESSAGES = st.builds(
    Message,
    st.just("orders"),
    st.binary(max_size=20),
    tag=st.none() | WORDS,
    keys=st.lists(WORDS, max_size=3) | st.lists(WORDS, max_size=3).map(tuple) | st.just(""),
    properties=st.dictionaries(WORDS, WORDS, max_size=4),
    flag=st.integers(-(2**31), 2**31 - 1) | st.just(2**31),
)


class OtherMessage(Message):
    """Whatever an application makes of it."""


def made(encode: Callable[[Sequence[Message], list[str]], bytes], messages: Any, ids: list[str]) -> object:
    try:
        return encode(messages, ids)
    except Exception as problem:
        return type(problem), str(problem)


@given(st.lists(MESSAGES, max_size=5), WORDS)
@example([Message("orders", b"x", properties={"a": "b" * 32_000})], "")
@example([Message("orders", b"x", properties={"a": "b" * 32_760})], "id")
@example([Message("orders", b"x", properties={"a": "b" * 32_767})], "id")
@example([Message("orders", b"x", keys=[""]), Message("orders", b"", keys=["", ""])], "id")
@example([Message("orders", b"x", tag=1)], "id")  # type: ignore[arg-type]
@example([Message("orders", b"x", keys=[1])], "id")  # type: ignore[list-item]
@example([Message("orders", b"x", properties={"a": 1, "": 2})], "id")  # type: ignore[dict-item]
@example([Message("orders", bytearray(b"x"))], "id")  # type: ignore[arg-type]
def test_all_that_a_message_can_be(messages: list[Message], unique_id: str) -> None:
    ids = [f"{unique_id}{number or ''}" for number in range(len(messages))]
    assert made(encode_usual, messages, ids) == made(encode_elements, messages, ids)


def test_what_is_usual_is_made_by_compiled_code() -> None:
    usual = [
        Message("t", b"a"),
        Message("t", b"b", "T", ["k"], {"n": "v"}, 7),
        Message("t", b"c", keys=("k", "l")),
    ]
    ids = ["A", "B", "C"]
    expected = encode_elements(usual, ids)
    assert natively(usual, ids, Message) == natively(tuple(usual), ids, Message) == expected
    assert natively([], [], Message) == b""


def test_the_rest_is_left_to_python() -> None:
    usual = Message("t", b"a")
    reply = ReplyMessage("t", b"a", correlation_id="1")
    for other in (OtherMessage("t", b"b"), reply, Message("t", b"b", properties={"a": "b" * 32_767})):
        assert natively([usual, other], ["A", "B"], Message) is None
    for ids in ([], ["A", "B"]):
        assert natively([usual], ids, Message) is None
        assert made(encode_usual, [usual], ids) == made(encode_elements, [usual], ids)


def test_the_environment_leaves_it_out() -> None:
    assert elements.encoder({}) is encode_usual
    assert elements.encoder({"MQFRAME_SPEEDUPS": "0"}) is encode_elements


@pytest.mark.parametrize("count", [1, 100])
def test_bodies_are_bytes(count: int) -> None:
    body = encode_usual([Message("t", b"a", "T")] * count, ["A"] * count)
    assert type(body) is bytes
    assert len(body) == count * (22 + 1 + len("UNIQ_KEY.A.TAGS.T."))
