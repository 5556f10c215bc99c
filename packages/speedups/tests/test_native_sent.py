"""Requests to send that compiled code reads: what Python makes of them is the same, and it refuses none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_grpc.calls.ordinary_sends import OrdinarySend, SendRequests
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.send_checks import SendLimits, check_sends
from mqframe_grpc.rules.sends import SendDraft, draft, message_type
from mqframe_speedups._native import SentReader

from mqframe.core.messages import properties as p

LIMITS = SendLimits(body_bytes_max=60, properties_bytes_max=80, properties_max=3, group_bytes_max=8)
READER = SendRequests(SentReader, LIMITS)
NOW_MS = 1_795_971_784_000
WORDS = st.sampled_from(
    ["", "a", "b c", " ", "\t", "x|y", "é", "\x01", "a\x02b", "\x7f", "w" * 7, "w" * 8, "v" * 79, "v" * 81]
)
NAMES = WORDS | st.sampled_from(sorted(p.RESERVED))
SECONDS = st.sampled_from([0, 1, 253_402_300_799, 253_402_300_800]) | st.integers(-(2**63), 2**63 - 1)
NANOS = st.sampled_from([0, 999_999, 1_000_000, 999_999_999, 1_000_000_000, -1])


def said(**other: Any) -> m.SystemProperties:
    usual = {
        "tag": "t", "keys": ["k", "l"], "message_id": "01A", "body_encoding": m.Encoding.IDENTITY,
        "message_type": m.MessageType.NORMAL, "born_host": "host", "queue_id": 3,
        "born_timestamp": m.Timestamp(seconds=1_795_971_783, nanos=123_000_000),
    }  # fmt: skip
    return m.SystemProperties(**usual | other)


def message(body: bytes = b"body", topic: str = "orders", user: Any = (), **properties: Any) -> m.Message:
    resource = m.Resource(name=topic, resource_namespace="ns")
    return m.Message(
        topic=resource, body=body, user_properties=dict(user), system_properties=said(**properties)
    )


def request(*messages: m.Message) -> bytes:
    return m.SendMessageRequest(messages=messages).SerializeToString()


def by_python(data: bytes) -> tuple[str, SendDraft]:
    asked = m.SendMessageRequest.FromString(data)
    topic = asked.messages[0].topic.name
    check_sends(asked.messages, LIMITS, NOW_MS)
    [only] = asked.messages
    return topic, draft(only, "10.0.0.7:1", NOW_MS, LIMITS)


def check_alike(found: OrdinarySend, data: bytes) -> None:
    topic, made = by_python(data)
    assert found.name == topic
    assert found.draft[:1] + found.draft[2:-1] == made[:1] + made[2:-1]
    assert p.decode_properties(found.draft.text) == made.properties
    assert found.draft.text.count("\x02") == len(made.properties)
    assert message_type(found.draft.properties) == message_type(made.properties)
    if sum(name not in p.RESERVED for name in made.properties) < 2:  # the order of more is nobody's
        assert found.draft.text == p.encode_properties(made.properties)


@st.composite
def messages(draw: st.DrawFn) -> m.Message:
    moment = m.Timestamp(seconds=draw(SECONDS), nanos=draw(NANOS))
    other: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "tag": WORDS,
                "keys": st.lists(WORDS, max_size=4),
                "message_id": WORDS,
                "message_group": WORDS,
                "trace_context": WORDS,
                "born_host": WORDS | st.just("h" * 256),
                "born_timestamp": st.just(moment),
                "delivery_timestamp": st.just(moment),
                "body_encoding": st.integers(0, 3),
                "message_type": st.integers(0, 5),
                "queue_id": st.integers(-3, 9),
                "delivery_attempt": st.integers(-1, 2),
                "body_digest": st.just(m.Digest(checksum="x")),
                "store_host": WORDS,
            },
        )
    )
    topic, user = draw(st.sampled_from(["orders", "", "é"])), draw(st.dictionaries(NAMES, WORDS, max_size=4))
    made = message(draw(st.binary(max_size=62)), topic, user, **other)
    for name in draw(st.sets(st.sampled_from(["topic", "system_properties"]), max_size=1)):
        if draw(st.integers(0, 9)) == 0:
            made.ClearField(name)
    return made


@given(messages())
@example(message())
def test_what_is_read_passes_the_checks_and_makes_the_same(one: m.Message) -> None:
    data = request(one)
    found = READER.FromString(data)
    if isinstance(found, OrdinarySend):
        if found.name in ("", "é"):
            return  # a name that `topic_name` refuses, as it does for Python
        check_alike(found, data)
    else:
        assert found == m.SendMessageRequest.FromString(data)


@given(messages(), st.data())
def test_bytes_that_are_bent(one: m.Message, data: st.DataObject) -> None:
    raw = bytearray(request(one))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    found: Any = SentReader(p.RESERVED, (60, 80, 3, 8)).read(bytes(raw))
    if found is not None and found[0] == "orders":
        check_alike(READER.FromString(bytes(raw)), bytes(raw))


@pytest.mark.parametrize(
    "one",
    [
        message(),
        message(user={"colour": "red", "size": "3"}),
        message(tag="", keys=[]),
        message(message_group="g", message_type=m.MessageType.FIFO, trace_context="00-a b"),
        message(b"x" * 60, body_encoding=0, message_type=0, queue_id=0),
    ],
)
def test_ordinary_requests_are_read(one: m.Message) -> None:
    data = request(one)
    found = READER.FromString(data)
    assert isinstance(found, OrdinarySend)
    check_alike(found, data)


def test_the_text_of_properties_is_that_of_python() -> None:
    data = request(message(user={"colour": "red"}, message_group="g", trace_context="t"))
    found = READER.FromString(data)
    assert isinstance(found, OrdinarySend)
    assert found.draft.text == p.encode_properties(by_python(data)[1].properties)
    assert found.draft.text.startswith(
        "colour\x01red\x02TAGS\x01t\x02KEYS\x01k l\x02UNIQ_KEY\x0101A\x02PGROUP"
    )


ODD = [
    b"",
    request(),
    request(message(), message()),
    request(message()) + b"\x10\x01",
    request(message())[:-1],
    request(message(b"")),
    request(message(b"x" * 61)),
    request(message(user={"KEYS": "x"})),
    request(message(user={"a": ""})),
    request(message(user={"é": "x"})),
    request(message(user={str(at): "x" for at in range(4)})),
    request(message(user={"a": "x" * 80})),
    request(message(tag="a|b")),
    request(message(tag=" ")),
    request(message(keys=["a", ""])),
    request(message(message_id="")),
    request(message(message_id="x" * 81)),
    request(message(message_group="w" * 8)),
    request(message(trace_context="\x01")),
    request(message(born_host="")),
    request(message(born_host="h" * 256)),
    request(message(born_timestamp=m.Timestamp())),
    request(message(born_timestamp=m.Timestamp(seconds=-1))),
    request(message(delivery_timestamp=m.Timestamp(seconds=1))),
    request(message(delivery_attempt=1)),
    request(message(body_encoding=m.Encoding.GZIP)),
    request(message(message_type=m.MessageType.TRANSACTION)),
    m.SendMessageRequest(messages=[m.Message(body=b"x")]).SerializeToString(),
]


@pytest.mark.parametrize("data", ODD, ids=range(len(ODD)))  # their bytes differ from run to run
def test_what_is_odd_is_left(data: bytes) -> None:
    assert SentReader(p.RESERVED, (60, 80, 3, 8)).read(data) is None
