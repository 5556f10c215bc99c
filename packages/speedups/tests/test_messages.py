"""Messages that compiled code reads are those that Python reads, whatever is done with them."""

from __future__ import annotations

import copy
import pickle
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_speedups import messages
from mqframe_speedups._native import (
    RecordMessage,
    any_may_have,
    guard,
    offsets_of,
    read_messages,
    store_bytes_of,
)
from mqframe_speedups.messages import read_records

from mqframe.core.codes import SysFlag
from mqframe.core.consuming.pull import check_asked_for
from mqframe.core.errors import BadAnswer, BodyUnreadable
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.compression import Compression, compress
from mqframe.core.messages.many import ManyMessages, guard_bodies, many_of
from mqframe.core.messages.message import MessageQueue, ReceivedMessage, unreadable
from mqframe.core.storage.record import RecordError, decode_records, encode_record

V4, V6 = encode_host("10.0.0.1:80"), encode_host("[::1]:80")
TEXTS = [
    b"", b"TAGS\x01t\x02", b"UNIQ_KEY\x01A\x02TAGS\x01t\x02KEYS\x01k l\x02", b"TAGS\x01a\x02TAGS\x01b\x02",
    b"TAGS\x01\x02", b"MYTAGS\x01x\x02", b"xTAGS\x01y\x02TAGS\x01z", b"TAGS\x01a\x01b\x02",
    b"TAGS\x01\xff\xfe\x02", b"TAGS\x01\xe2\x82", b"TAGS", b"\x02\x01", "TAGS\x01\u00e9\x02".encode(),
]  # fmt: skip
SIGNED = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
PLAIN_NAMES = [
    name for name in dir(ReceivedMessage) if not name.startswith(("__", "_abc", "_properties", "_many"))
]
"""All that a message has, but for when its properties were split, and what is asked of many."""


def record(**other: Any) -> bytes:
    usual: dict[str, Any] = {
        "topic": "orders", "queue_id": 3, "queue_offset": 5, "physical_offset": 700, "body": b"body",
        "properties": TEXTS[2], "born_timestamp": 11, "store_timestamp": 12, "born_host": V4,
        "store_host": V4,
    }  # fmt: skip
    return encode_record(**usual | other)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """Mostly of the usual kind."""
    body = draw(st.binary(max_size=20))
    sys_flag = draw(INTS)
    if sys_flag & SysFlag.COMPRESSED and draw(st.booleans()):
        body, packed = compress(b"z" * 100, Compression.ZLIB, 5)
        sys_flag = sys_flag & ~SysFlag.COMPRESSION_MASK | packed
    made = record(
        topic=draw(st.sampled_from(["orders", "t", "\u00e9", "l" * 127, "m" * 128])),
        queue_id=draw(INTS), queue_offset=draw(SIGNED), physical_offset=draw(SIGNED), body=body,
        properties=draw(st.sampled_from(TEXTS) | st.binary(max_size=30)), flag=draw(INTS),
        born_timestamp=draw(SIGNED), store_timestamp=draw(SIGNED), sys_flag=sys_flag,
        reconsume_times=draw(INTS), prepared_transaction_offset=draw(SIGNED),
        born_host=draw(st.sampled_from([V4, V4, V4, V6])), store_host=draw(st.sampled_from([V4, V4, V4, V6])),
    )  # fmt: skip
    if draw(st.booleans()):
        return made
    at = draw(st.integers(0, len(made) - 1))
    return made[:at] + draw(st.binary(min_size=1, max_size=4)) + made[at + 1 :]


def told(message: ReceivedMessage, name: str) -> object:
    """What an attribute says, or a method that takes nothing; an error by its words."""
    try:
        found = getattr(message, name)
    except Exception as problem:  # numbers that no address or time can have, too
        return type(problem), str(problem)
    return ... if callable(found) else (type(found), found)


def read(reader: Callable[[bytes, str], Any], data: bytes) -> list[ReceivedMessage] | str:
    try:
        return list(reader(data, "broker-a"))
    except RecordError as problem:
        return str(problem)


@given(st.lists(records(), max_size=4).map(b"".join), st.permutations(PLAIN_NAMES), st.booleans())
@example(b"".join(record(properties=text) for text in TEXTS), ["tag", *PLAIN_NAMES], False)
@example(b"".join(record(properties=text) for text in TEXTS), ["properties", *PLAIN_NAMES], True)
@example(record() + record(topic="t")[:-1], PLAIN_NAMES, False)
@example(record(properties=b"a\x01b\x02" * 8000), PLAIN_NAMES, False)
def test_all_that_they_say(data: bytes, names: list[str], checks: bool) -> None:
    """In whatever order it is looked at."""
    expected, found = read(decode_records, data), read(read_records, data)
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert len(found) == len(expected)
    for each in (expected, found):
        guard_bodies(each, 1000, checks)
    assert [[told(each, name) for name in names] for each in found] == [
        [told(each, name) for name in names] for each in expected
    ]
    for mine, others in zip(found, expected, strict=True):
        assert mine.commit_log_offset < 0 or repr(mine) == repr(others)
    assert list(unreadable(found).values()) == list(unreadable(expected).values())
    for mine, others in zip(found, expected, strict=True):
        for name in (b"TAGS", b"", b"KEYS\x01k", b"\xff", b"body"):
            assert mine.may_have(name) == others.may_have(name)


def one(**other: Any) -> ReceivedMessage:
    (message,) = read_records(record(**other), "broker-a")
    assert isinstance(message, RecordMessage)
    return message


def test_the_usual_kind_is_read_by_compiled_code_and_the_rest_by_python() -> None:
    usual = record() + record(topic="\u00e9")
    assert [type(each) for each in read_records(memoryview(usual), "b")] == [RecordMessage] * 2
    for other in (record(topic="m" * 128), record(born_host=V6), record(store_host=V6)):
        assert read_messages(usual + other, "b") is None
        assert [type(each) for each in read_records(usual + other, "b")] == [ReceivedMessage] * 3


def test_they_are_received_messages_and_have_nothing_else() -> None:
    assert isinstance(one(), ReceivedMessage)
    assert issubclass(RecordMessage, ReceivedMessage)
    assert [
        name for name in dir(RecordMessage) if not name.startswith(("__", "_properties", "_many"))
    ] == PLAIN_NAMES
    with pytest.raises(AttributeError):
        one().other = 1  # type: ignore[attr-defined]
    for name in PLAIN_NAMES:
        mine, theirs = getattr(RecordMessage, name), getattr(ReceivedMessage, name)
        assert mine is theirs or not callable(theirs) or mine.__doc__ == theirs.__doc__


def test_what_may_be_changed_can_be() -> None:
    message, other = one(), next(decode_records(record(), "broker-a"))
    for each in (message, other):
        each.topic, each.queue_id, each.queue_offset, each.broker_name = "%RETRY%g", 7, 8, "broker-b"
        each.reconsume_times += 1
        each.properties["TAGS"] = "changed"
        each.unpacked_bytes_max, each.checks_crc = 10, True
    names = [name for name in PLAIN_NAMES if name != "decode"]
    assert [told(message, name) for name in names] == [told(other, name) for name in names]
    assert (message.tag, message.queue, message.reconsume_times) == (
        "changed",
        ("%RETRY%g", "broker-b", 7),
        1,
    )


@pytest.mark.parametrize("text", [*TEXTS, b"b\x01\x02a\x011\x02b\x012\x02a\x013\x02\x014\x02c\x015\x016"])
def test_properties_are_split_once_in_their_order(text: bytes) -> None:
    message, (other,) = one(properties=text), decode_records(record(properties=text), "broker-a")
    assert list(message.properties.items()) == list(other.properties.items())
    assert message.properties is message.properties


def test_a_body_is_unpacked_once_and_checked_before() -> None:
    packed, flag = compress(b"a" * 1000, Compression.ZLIB, 5)
    message = one(body=packed, sys_flag=flag)
    message.checks_crc = True
    assert message.stored_body == packed
    assert message.body == b"a" * 1000
    assert message.body is message.body
    assert not message.sys_flag & SysFlag.COMPRESSED
    assert (message.checks_crc, message.stored_body) == (False, b"a" * 1000)
    data = bytearray(record())
    data[88] ^= 1
    (bad,) = read_records(data, "broker-a")
    bad.checks_crc = True
    with pytest.raises(BodyUnreadable, match=f"{zlib.crc32(bytes(data[88:92])) & 0x7FFFFFFF:#010x}"):
        _ = bad.body
    bad.checks_crc = False
    assert bad.body == data[88:92]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_are_pythons(copied: Callable[[ReceivedMessage], ReceivedMessage]) -> None:
    message = one()
    message.topic = "elsewhere"
    other = copied(message)
    assert type(other) is ReceivedMessage
    assert [told(other, name) for name in PLAIN_NAMES] == [told(message, name) for name in PLAIN_NAMES]
    assert other != message, "they are compared by identity"
    assert len({message, other, message}) == 2


def test_nothing_of_the_answer_is_kept_but_the_record() -> None:
    data = bytes(record()) * 3
    kept = read_messages(data, "broker-a")
    assert kept is not None
    stored = struct.pack(">i", len(data) // 3)
    assert [each.store_size for each in kept] == [struct.unpack(">i", stored)[0]] * 3  # type: ignore[attr-defined]


def test_the_environment_leaves_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert messages.reader({}) is read_records
    assert messages.reader({"MQFRAME_SPEEDUPS": "1"}) is read_records
    assert messages.reader({"MQFRAME_SPEEDUPS": "0"}) is decode_records


NAMES = st.sampled_from([b"", b"TAGS", b"KEYS\x01k", b"REPLY_TO_CLIENT", b"\xff", b"\x02T"])
PLACES = st.tuples(
    st.sampled_from(["orders", "orders", "orders", "t", "m" * 128]), st.sampled_from([3, 3, 3, 4, -1]),
    st.integers(-3, 6) | st.sampled_from([-(2**63), 2**63 - 1]), st.sampled_from([V4, V4, V4, V4, V6]),
)  # fmt: skip


def drawn_ones(
    places: list[tuple[str, int, int, bytes]],
) -> tuple[list[ReceivedMessage], list[ReceivedMessage]]:
    """Messages at such places as either code has them: those that are not usual are Python's in both."""
    mine: list[ReceivedMessage] = []
    theirs: list[ReceivedMessage] = []
    for number, (topic, queue_id, offset, host) in enumerate(places):
        text = TEXTS[number % len(TEXTS)]
        data = record(topic=topic, queue_id=queue_id, queue_offset=offset, born_host=host, properties=text)
        mine += read_records(data, "broker-a")
        theirs += decode_records(data, "broker-a")
    return mine, theirs


def asked(messages: list[ReceivedMessage], queue: MessageQueue, first: int) -> str:
    try:
        check_asked_for(messages, queue, "broker:1", first, 9)
    except BadAnswer as problem:
        return str(problem)
    return ""


@given(st.lists(PLACES, max_size=6), NAMES, st.integers(-(2**65), 2**65), st.integers(-4, 6))
@example([("orders", 3, n, V4) for n in range(4)], b"TAGS", 99, 0)
@example([("orders", 3, 2**63 - 1, V4), ("orders", 3, 2**63 - 1, V4)], b"TAGS", 99, 0)
@example([("orders", 3, 1, V4), ("orders", 3, 2, V6), ("orders", 3, 3, V4)], b"T", 99, 0)
def test_what_is_asked_of_many_is_what_each_says(
    places: list[tuple[str, int, int, bytes]], name: bytes, most: int, first: int
) -> None:
    mine, theirs = drawn_ones(places)
    many, plain = many_of(mine), many_of(theirs)
    assert many.offsets(mine) == plain.offsets(theirs) == [each.queue_offset for each in theirs]
    assert many.store_bytes(mine) == plain.store_bytes(theirs) == sum(each.store_size for each in theirs)
    assert many.may_have(mine, name) is plain.may_have(theirs, name) is any(m.may_have(name) for m in theirs)
    queue = MessageQueue("orders", "broker-a", 3)
    assert asked(mine, queue, first) == asked(theirs, queue, first)
    if -(2**63) <= most < 2**63:
        for checks in (True, False):
            guard_bodies(mine, most, checks)
            assert [(each.unpacked_bytes_max, each.checks_crc) for each in mine] == [(most, checks)] * len(
                mine
            )


def test_many_usual_ones_are_known_at_once_and_others_are_not() -> None:
    usual, _ = drawn_ones([("orders", 3, n, V4) for n in (0, 1, 5)])
    queue, many = MessageQueue("orders", "broker-a", 3), many_of(usual)
    assert type(many) is messages.ManyRecords
    assert many.rise_in(usual, queue, 0)
    assert many.rise_in([], queue, 0)
    assert not many.rise_in(usual, queue, 1)
    assert not many.rise_in(usual[::-1], queue, 0)
    assert not many.rise_in(usual[:1] * 2, queue, 0)
    assert not many.rise_in(usual, queue._replace(queue_id=4), 0)
    assert not many.rise_in(usual, queue._replace(queue_id=2**40), 0)
    assert not many.rise_in(usual, queue._replace(topic="order"), 0)
    assert not many.rise_in(usual, queue, 2**70)
    assert not many.rise_in(tuple(usual), queue, 0), "Python looks"
    usual[1].topic = "others"
    assert not many.rise_in(usual, queue, 0)
    others = [*usual, *decode_records(record(), "broker-a")]
    for ask in (offsets_of, store_bytes_of, lambda each: any_may_have(each, b"TAGS")):
        assert ask(others) is None
        assert ask(usual) is not None
    assert not guard(others, 9, True)
    assert not guard(usual, 2**70, True)
    with pytest.raises(OverflowError):
        guard_bodies(usual, 2**70, True)


def test_tuples_of_them_and_none_are_many_too() -> None:
    usual = tuple(read_records(record() + record(queue_offset=6), "broker-a"))
    assert many_of(usual).offsets(usual) == [5, 6]
    assert many_of(()).offsets(()) == []
    assert type(many_of(())) is ManyMessages
