"""What compiled code makes of a pop for clients of gRPC: what Python makes of it, or nothing."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_grpc.calls.leftovers import handle_of
from mqframe_grpc.calls.receives import read
from mqframe_grpc.calls.translated import Delivery, Translation
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.receives import message_of
from mqframe_grpc.transport.messages import framed
from mqframe_speedups._native import ReceivedTranslator

from mqframe.core.codes import SysFlag
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import encode_host
from mqframe.core.requests.serving import Reply
from mqframe.core.storage.record import encode_record

TRANSLATION = Translation(ReceivedTranslator)
TOPIC = m.Resource(name="orders", resource_namespace="ns")
V4 = encode_host("10.0.0.1:80")
NAMES = [*sorted(p.RESERVED), "a", "colour", "é", "TAGS ", "sTAGS"]
VALUES = ["x", "k  l m ", "true", " ", "\t", "\u3000", "1700000000000", "é", "a\x01b", "0 1 2 3 0 b 0 9"]
TIMES = st.sampled_from([0, 1, -1, 999, 1_795_971_784_123, -62_135_596_800_001, -62_135_596_800_000]) | (
    st.integers(-(2**63), 2**63 - 1)
)
ORDINARY = "UNIQ_KEY\x0101A\x02TAGS\x01t\x02KEYS\x01k l\x02colour\x01red\x02__BORNHOST\x01h\x02"


def record(**other: Any) -> bytes:
    usual: dict[str, Any] = {
        "topic": "orders", "queue_id": 0, "queue_offset": 5, "physical_offset": 700, "body": b"body",
        "properties": ORDINARY.encode(), "born_timestamp": 1_795_971_784_123, "born_host": V4,
        "store_timestamp": 1_795_971_784_129, "store_host": encode_host("10.0.0.2:70000"),
    }  # fmt: skip
    return encode_record(**usual | other)


def popped(*records: bytes, starts: str = "0 0 5", offsets: str = "0 0 5", **other: str) -> Reply:
    """The answer to a pop that took `records`."""
    said = {"popTime": "1795971784500", "invisibleTime": "60000", "reviveQid": "3", "restNum": "0"}
    places = {"startOffsetInfo": starts, "msgOffsetInfo": offsets}
    return Reply(0, ext=said | places | other, body=list(records))


def by_python(reply: Reply) -> list[Delivery]:
    found = []
    for each in read(reply, "broker-a", TOPIC.name, 0.0).messages:
        handle = handle_of(each)
        made = m.ReceiveMessageResponse(message=message_of(each, TOPIC, handle.text))
        answer = framed(made.SerializeToString(deterministic=True))
        found.append(Delivery(handle, each.message_id, answer, each.reconsume_times))
    return found


def told(found: list[Delivery] | None) -> list[Delivery] | None:
    """`found`, with the answers in the order of fields that all have alike: that of a map is nobody's."""
    if found is None:
        return None
    return [
        each._replace(
            answer=framed(
                m.ReceiveMessageResponse.FromString(each.answer[5:]).SerializeToString(deterministic=True)
            )
        )
        for each in found
    ]


def by_compiled(reply: Reply) -> list[Delivery] | None:
    return told(TRANSLATION.of(reply, TOPIC, "broker-a"))


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    pairs = draw(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)), max_size=6))
    first = draw(st.sampled_from(["UNIQ_KEY\x01A\x02", "", "UNIQ_KEY\x01\x02", "\x02\x02x\x02\x01y\x02"]))
    text = first + "".join(f"{name}\x01{value}\x02" for name, value in pairs)
    return text.encode() + draw(st.sampled_from([b"", b"", b"", b"\xff", b"a\x01b", b"\xe2\x82\x01z\x02"]))


@st.composite
def pops(draw: st.DrawFn) -> Reply:
    """Mostly ordinary, of up to three queues."""
    records, starts, offsets = [], [], []
    for queue_id in draw(st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True)):
        start = draw(st.integers(0, 2**40))
        taken = sorted(draw(st.sets(st.integers(start, start + 40), min_size=1, max_size=4)))
        starts.append(f"0 {queue_id} {start}")
        offsets.append(f"0 {queue_id} {','.join(map(str, taken))}")
        records += [
            record(
                queue_id=queue_id, queue_offset=offset, physical_offset=draw(st.integers(0, 2**60)),
                body=draw(st.binary(max_size=200)), properties=draw(texts()), born_timestamp=draw(TIMES),
                store_timestamp=draw(TIMES), flag=draw(st.integers(0, 9)),
                sys_flag=draw(st.sampled_from([0, 0, 0, 0x2, 0x4, 0x8, 0xC])),
                reconsume_times=draw(st.sampled_from([0, 0, 0, 0, 1, -1])),
            )
            for offset in taken
        ]  # fmt: skip
    return popped(*records, starts=";".join(starts), offsets=";".join(offsets))


@given(pops())
@example(popped(record(body=b"", born_timestamp=0, store_timestamp=0), offsets="0 0 5"))
def test_what_is_translated_is_what_python_makes_of_it(reply: Reply) -> None:
    found = by_compiled(reply)
    assert found is None or found == by_python(reply)


def named(name: str, value: str = "1") -> dict[str, bytes]:
    return {"properties": f"{ORDINARY}{name}\x01{value}\x02".encode()}


def test_ordinary_messages_are_translated() -> None:
    reply = popped(
        record(), record(queue_offset=8, physical_offset=0, properties=b"UNIQ_KEY\x01B\x02"),
        record(queue_id=7, queue_offset=0, **named("__SHARDINGKEY", "g\x02TRACE_CONTEXT\x01t")),
        record(queue_id=7, queue_offset=1, body=bytes(70_000), **named("é", "ü")),
        starts="0 0 4;0 7 0", offsets="0 0 5,8;0 7 0,1",
    )  # fmt: skip
    found = by_compiled(reply)
    assert found is not None
    assert found == by_python(reply)
    assert [each.message_id for each in found] == ["01A", "B", "01A", "01A"]
    assert found[1].handle.text == "4 1795971784500 60000 3 0 broker-a 0 8 0"
    assert TRANSLATION.of(reply, TOPIC, "broker-a") is not None  # the answer is good for a second look


def test_an_answer_has_the_bytes_that_protobuf_writes() -> None:
    reply = popped(record())
    found = TRANSLATION.of(reply, TOPIC, "broker-a")
    assert found is not None
    assert [each.answer for each in found] == [each.answer for each in by_python(reply)]


@pytest.mark.parametrize("size", [*range(130), 255, 256, 1 << 20])
def test_digests(size: int) -> None:
    body = bytes(at * 7 & 0xFF for at in range(size))
    found = TRANSLATION.of(popped(record(body=body)), TOPIC, "broker-a")
    assert found is not None
    said = m.ReceiveMessageResponse.FromString(found[0].answer[5:]).message
    assert said.body == body
    assert said.system_properties.body_digest.checksum == hashlib.md5(body).hexdigest().upper()


@pytest.mark.parametrize(
    "odd",
    [
        *[named(name) for name in ("POP_CK", "DELAY", "TIMER_DELIVER_MS", "TIMER_OUT_MS", "RETRY_TOPIC")],
        *[named(name) for name in ("TIMER_DELAY_SEC", "TIMER_DELAY_MS", "DLQ_ORIGIN_TOPIC", "TAGS")],
        named("TRAN_MSG", "true"),
        {"properties": b"TAGS\x01t\x02"},
        {"properties": b"UNIQ_KEY\x01A\x02__BORNHOST\x01 \t\x02"},
        {"properties": b"UNIQ_KEY\x01\xff\x02"},
        {"properties": "".join(f"{at}\x01v\x02" for at in range(65)).encode() + b"UNIQ_KEY\x01A"},
        {"topic": "%RETRY%billing_orders"},
        {"topic": "others"},
        {"topic": "m" * 128},
        {"reconsume_times": 1},
        {"sys_flag": int(SysFlag.COMPRESSED)},
        {"born_host": encode_host("[::1]:80")},
        {"queue_offset": 6},
        {"queue_id": 1},
        {"physical_offset": -1},
    ],
)
def test_what_is_odd_is_left_with_all_that_came(odd: dict[str, Any]) -> None:
    for records in ([record(**odd)], [record(queue_offset=4), record(**odd)]):
        offsets = ",".join(["4", "5"][-len(records) :])
        assert by_compiled(popped(*records, starts="0 0 4", offsets=f"0 0 {offsets}")) is None


@pytest.mark.parametrize(
    "reply",
    [
        popped(record(), starts="0 1 5", offsets="0 1 5"),
        popped(record(), offsets="0 0 5,6"),
        popped(record(), starts="0 0 5;0 1 0", offsets="0 0 5;0 1 0"),
        popped(record(), record(), offsets="0 0 5"),
        popped(record()[:-1]),
        popped(record(), popTime="x"),
        popped(record(), starts="1 0 5", offsets="1 0 5"),
        Reply(0, body=record()),
        Reply(210, ext=popped().ext, body=record()),
    ],
)
def test_answers_that_say_something_else_are_left(reply: Reply) -> None:
    assert by_compiled(reply) is None
