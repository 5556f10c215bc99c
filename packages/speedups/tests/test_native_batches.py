"""Batches in the native layout: what it takes is stored and answered as by Python, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from drawn import SLOWLY, batches, sends
from hypothesis import given, reject
from hypothesis import strategies as st

from mqframe.core.errors import MessageError
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.batch import encode_element
from mqframe.core.wire.frame import HeaderForm, encode_frame


def raw_of(reference: Any, elements: bytes | Sequence[tuple[bytes, str]], **changes: Any) -> bytes:
    """The frame of a batch; `elements`: body and properties of each, or the body of the request."""
    if not isinstance(elements, bytes):
        elements = b"".join(encode_element(body, text.encode()) for body, text in elements)
    usual = {"code": 320, "batch": "true", "properties": "WAIT\x01true\x02", "body": elements}
    return encode_frame(reference.send(**usual | changes))


def pieces(texts: Sequence[str]) -> list[tuple[bytes, str]]:
    """Messages with these properties."""
    return [(b"%d" % number, text) for number, text in enumerate(texts)]


@SLOWLY
@given(
    st.lists(batches() | sends(), min_size=1, max_size=5),
    st.sampled_from([encode_host("10.0.0.9:40000"), encode_host("[fe80::1]:40000")]),
)
def test_ordinary_batches_are_taken_and_stored_as_by_python(
    reference: Any, made: list[dict[str, Any]], born: bytes
) -> None:
    """Records, entries, keys, counts and answers of batches, mixed with single messages."""
    data = b"".join(encode_frame(reference.send(**each)) for each in made)
    laid = reference.lay(data, born=born, made=reference.layout(batch_keys_max=1000, batch_messages_max=1000))
    assert (laid.stopped, laid.unknown) == (len(data), None)
    assert sum(kind[2] for kind in laid.kinds) == len(made)
    try:
        reference.check(data, laid, born=born)
    except MessageError as problem:
        if "are indexed at once" in str(problem):
            reject()  # more keys than the reference takes, but not than the layout has room for
        raise


@SLOWLY
@given(st.lists(batches(odd=True), min_size=1, max_size=3))
def test_odd_properties_of_batches_are_left_or_stored_as_by_python(
    reference: Any, made: list[dict[str, Any]]
) -> None:
    """Whatever names and values messages and requests have, in whatever order."""
    data = b"".join(encode_frame(reference.send(**each)) for each in made)
    laid = reference.lay(data)
    if laid is not None:
        reference.check(data, laid)


@SLOWLY
@given(st.data(), batches())
def test_damaged_batches_are_left_or_stored_as_by_python(
    reference: Any, data: st.DataObject, made: dict[str, Any]
) -> None:
    """Bytes flipped, put in or taken out, lengths changed, the end cut off."""
    body = bytearray(made["body"])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, max(len(body) - 1, 0)))
        match data.draw(st.integers(0, 4)):
            case 0 if body:
                body[min(at, len(body) - 1)] ^= 1 << data.draw(st.integers(0, 7))
            case 1:
                piece = data.draw(
                    st.sampled_from([b"", b"\0", b"\x01", b"\x02", b"\xc3", b"KEYS\x01", b"DEL"])
                )
                body[at : at + data.draw(st.integers(0, 2))] = piece
            case 2:
                body[at : at + 4] = data.draw(st.integers(-(2**31), 2**31 - 1)).to_bytes(
                    4, "big", signed=True
                )
            case 3:
                del body[at:]
            case _:
                body += body[at:]
    raw = encode_frame(reference.send(**made | {"body": bytes(body)}))
    laid = reference.lay(raw)
    if laid is not None and laid.count:
        reference.check(raw, laid)


@pytest.mark.parametrize("form", list(HeaderForm))
@pytest.mark.parametrize(
    "shared",
    [
        None,
        "",
        "WAIT\x01true",
        "a\x01b\x02TAGS\x01t\x02KEYS\x01l m\x02UNIQ_KEY\x01A B",
        "UNIQ_KEY\x01A\x02__SHARDINGKEY\x01s\x02",
    ],
)
def test_what_the_request_has_counts_for_each(reference: Any, form: HeaderForm, shared: str | None) -> None:
    """Of a name that both have the request's value; its unique key stands in the answer."""
    texts = [
        "",
        "x\x01y",
        "TAGS\x01ü\x02",
        "KEYS\x01k  k2 \x02",
        'UNIQ_KEY\x01ä"\\\x02KEYS\x01k',
        "UNIQ_KEY\x01\x7f",
    ]
    raw = raw_of(reference, pieces(texts), properties=shared, form=form)
    laid = reference.lay(raw)
    assert laid.count == len(texts)
    assert [put[1:] for put in laid.puts] == [("SHARDING" in (shared or ""), 6, len(laid.records), 1)]
    assert laid.kinds == [(320, False, 1)]
    assert laid.answers.count(b"transactionId") == ("UNIQ" in (shared or ""))
    reference.check(raw, laid)


@pytest.mark.parametrize("code", [10, 310, 320])
def test_the_field_says_whether_it_is_a_batch(reference: Any, code: int) -> None:
    """Whatever the code is."""
    text = reference.properties
    many = raw_of(reference, pieces([text] * 3), code=code)
    for flag in (None, "false"):
        assert reference.lay(raw_of(reference, b"body", code=code, batch=flag)) is None, "no unique key"
        one = raw_of(reference, b"body", code=code, batch=flag, properties=text)
        laid = reference.lay(one + many)
        assert (laid.count, laid.kinds) == (4, [(code, False, 2)])
        reference.check(one + many, laid)
    for flag in ("1", "True", ""):
        assert reference.lay(raw_of(reference, pieces([text]), code=code, batch=flag)) is None


GOOD = "UNIQ_KEY\x01K\x02"
ODD: dict[str, tuple[Sequence[str], str]] = {
    "a word": ([GOOD, "a\x01DELAYED"], ""),
    "a word in a tag": ([GOOD, "TAGS\x01TIMER_\x02"], ""),
    "a word of the request": ([GOOD], "CLUSTER\x01c\x02"),
    "a word that both make together": ([GOOD, "DEL"], "AY\x013\x02"),
    "what is no pair, before others": ([GOOD, "a\x01b\x02xyz"], "a\x01b\x02"),
    "an empty unique key": ([GOOD, "UNIQ_KEY\x01"], ""),
    "an empty unique key of the request": ([GOOD], "UNIQ_KEY\x01\x02"),
    "a unique key of the request with a quote": ([GOOD], 'UNIQ_KEY\x01"\x02'),
    "a unique key of the request, not ASCII": ([GOOD], "UNIQ_KEY\x01ü\x02"),
    "a name that ends so": ([GOOD, "MYTAGS\x01x\x02"], ""),
    "a value that is a name": ([GOOD, "UNIQ_KEY\x01KEYS\x01x\x02"], ""),
    "too many messages": ([GOOD] * 31, ""),
    "too many keys of one": ([GOOD, "KEYS\x01a b c d e f"], ""),
    "too many keys of the request": ([GOOD], "KEYS\x01a b c d e f"),
    "too many keys of all": (["KEYS\x01a b c d e"] * 6 + ["KEYS\x01a"], ""),
    "too many keys of all by the request": ([GOOD] * 16, "KEYS\x01a b"),
    "too long properties": ([GOOD], "a\x01" + "b" * 3000),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_batches_are_left(reference: Any, odd: str) -> None:
    """One message that is not ordinary leaves the whole request; what went before it is taken."""
    texts, shared = ODD[odd]
    good = raw_of(reference, pieces([GOOD]))
    bad = raw_of(reference, pieces(texts), properties=shared)
    assert reference.lay(bad) is None
    laid = reference.lay(good + bad + good)
    assert (laid.count, laid.stopped, laid.unknown) == (1, len(good), None)
    reference.check(good, laid)


def test_batches_up_to_the_limits_are_taken(reference: Any) -> None:
    """As many messages and keys as may be."""
    for texts, shared in (
        ([GOOD] * 30, ""),
        (["KEYS\x01a b c d e", GOOD] * 6, ""),
        ([GOOD] * 15, "KEYS\x01a b"),
        (["KEYS\x01a b c d e f"] * 3, "KEYS\x01a"),
    ):
        raw = raw_of(reference, pieces(texts), properties=shared)
        laid = reference.lay(raw)
        assert laid.count == len(texts)
        reference.check(raw, laid)


def test_properties_of_a_message_have_a_limit(reference: Any) -> None:
    """32,767 bytes with what the request and the broker put behind them."""
    shared = "WAIT\x01true"
    rest = 32767 - len(shared) - 1 - len(reference.suffix)
    for text, taken in (("a\x01" + "ä" + "b" * (rest - 5), True), ("a\x01" + "b" * (rest - 2), False)):
        raw = raw_of(reference, pieces([text]), properties=shared)
        assert reference.lay(raw) is None, "a body larger than may be"
        born, end = reference.born, reference.log.end
        place = (born, end, 1 << 20, 1, 1 << 20, reference.queue_of)
        laid = reference.layout().lay(raw, 0, place)
        assert (laid is not None) is taken


def test_a_batch_that_is_no_text_is_left(reference: Any) -> None:
    """Characters may end neither in another message nor in what the broker adds."""
    for properties in (b"a\x01\xff\x02", b"a\x01\xc3", b"a\x01\xed\xa0\x80"):
        for rest in (b"", encode_element(b"x", b"\xa9\x02")):
            assert reference.lay(raw_of(reference, encode_element(b"x", properties) + rest)) is None
    assert reference.lay(raw_of(reference, encode_element(b"\xff", "a\x01ü".encode()))).count == 1


def test_words_of_rules_for_batches_are_looked_for_everywhere(reference: Any) -> None:
    """A rule is shown batches in which its word stands anywhere; single messages are not asked."""
    made = reference.layout(batch_words=[b"once"])
    for elements, shared, taken in (
        ([(b"x", "a\x01b")], "", True),
        ([(b"x", "a\x01once")], "", False),
        ([(b"only once", "a\x01b")], "", False),
        ([(b"x", "a\x01b")], "a\x01once", False),
    ):
        assert (reference.lay(raw_of(reference, elements, properties=shared), made) is not None) is taken
    assert reference.lay(encode_frame(reference.send(body=b"once")), made).count == 1
    assert reference.lay(raw_of(reference, pieces([GOOD])), reference.layout(batch_words=[b""])) is None


def test_a_batch_has_room_as_a_whole(reference: Any) -> None:
    """Or none of its messages is taken, and its queue is not entered."""
    raw = raw_of(reference, pieces([GOOD] * 3))
    size = len(reference.lay(raw).records)
    assert reference.lay(raw, room=size).count == 3
    assert reference.lay(raw, room=size - 1) is None
    laid = reference.lay(raw + raw, room=2 * size - 1)
    assert (laid.count, len(laid.runs)) == (3, 1)
    reference.check(raw, laid)
    other = raw_of(reference, pieces([GOOD]), topic="öther")
    laid = reference.lay(raw + other)
    assert (laid.count, laid.unknown, len(laid.runs)) == (3, "öther", 1)
    assert reference.lay(raw_of(reference, pieces([GOOD]), queueId="4")) is None
    assert reference.lay(raw_of(reference, b"no batch", topic="öther")) is None
