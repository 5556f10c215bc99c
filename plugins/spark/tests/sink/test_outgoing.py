"""Rows as encoded batches, against the encoding of one message after the other."""

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mqframe_spark.sink import outgoing
from mqframe_spark.sink.key_bytes import UniqueKeys
from mqframe_spark.sink.options import SinkOptions
from mqframe_spark.sink.outgoing import Outgoing, OutgoingBatches

from mqframe.core.errors import FixError, MessageError
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.core.sending.encoding import decode_elements, encode_elements

QUEUES = {
    "orders": tuple(MessageQueue("orders", broker, number) for broker in "ab" for number in range(3)),
    "other": (MessageQueue("other", "a", 0),),
}
MAP = pa.map_(pa.string(), pa.string())

words = st.text("abcdefghüß漢", min_size=1, max_size=9)
rows = st.fixed_dictionaries(
    {
        "body": st.binary(min_size=1, max_size=60),
        "topic": st.sampled_from(sorted(QUEUES)),
        "tags": st.none() | st.just("") | words,
        "keys": st.none() | st.lists(words, max_size=3),
        "properties": st.none() | st.dictionaries(words, words, max_size=3),
        "sharding_key": st.none() | words,
        "flag": st.none() | st.integers(-(2**31), 2**31 - 1),
        "idempotence_key": st.none() | words,
    }
)
KINDS = {
    "body": pa.binary(),
    "topic": pa.string(),
    "tags": pa.string(),
    "keys": pa.list_(pa.string()),
    "properties": MAP,
    "sharding_key": pa.string(),
    "flag": pa.int32(),
    "idempotence_key": pa.string(),
}
LARGE = {"body": pa.large_binary(), "tags": pa.large_string(), "keys": pa.large_list(pa.large_string())}


def frame(given_rows: list[dict[str, Any]], kinds: dict[str, pa.DataType] = KINDS) -> pa.RecordBatch:
    """The rows, as the middle of a longer batch."""
    padded: list[dict[str, Any]] = [
        dict.fromkeys(kinds) | {"body": b"filler", "topic": "nowhere"},
        *[{**row, "properties": row["properties"] and list(row["properties"].items())} for row in given_rows],
        dict.fromkeys(kinds),
    ]
    columns = {name: pa.array([row[name] for row in padded], kind) for name, kind in kinds.items()}
    return pa.record_batch(columns).slice(1, len(given_rows))


def batches(options: SinkOptions | None = None, **more: Any) -> OutgoingBatches:
    return OutgoingBatches(
        options or SinkOptions("ns:1"), lambda topic: QUEUES[topic], UniqueKeys("127.0.0.1@1"), **more
    )


def sent(cut: OutgoingBatches, *frames: pa.RecordBatch) -> list[Outgoing]:
    found = [one for each in frames for one in cut.add(each)]
    return found + list(cut.rest())


def message_of(row: dict[str, Any], key: str | None) -> Message:
    pairs = dict(row["properties"] or {})
    if key is not None:
        pairs["IDEMPOTENCE_KEY"] = key
    return Message(row["topic"], row["body"], row["tags"], row["keys"] or (), pairs, row["flag"] or 0)


@settings(deadline=None)
@given(
    st.lists(rows, min_size=1, max_size=30),
    st.integers(1, 30),
    st.sampled_from([1024, 1 << 20]),
    st.booleans(),
    st.booleans(),
)
def test_messages_are_those_that_a_producer_would_make(
    given_rows: list[dict[str, Any]], cut_at: int, size: int, large: bool, automatic: bool
) -> None:
    kinds = {**KINDS, **LARGE} if large else KINDS
    frames = [frame(part, kinds) for part in (given_rows[:cut_at], given_rows[cut_at:]) if part]
    prefix = "q-1-" if automatic else ""
    found = sent(batches(SinkOptions("ns:1", batch_bytes=size), idempotence=prefix), *frames)
    seen: dict[Any, list[bytes]] = defaultdict(list)
    ids: list[str] = []
    for one in found:
        messages, unique = decode_elements(one.topic, one.elements)
        assert len(messages) == one.count
        assert len(one.elements) <= size
        # Bit for bit what the producer makes of them.
        assert encode_elements(messages, unique) == one.elements
        ids += unique
        seen[one.topic, one.queue] += [encode_elements([message], ["-"]) for message in messages]
    assert len(set(ids)) == len(given_rows)
    expected: dict[Any, list[bytes]] = defaultdict(list)
    for number, row in enumerate(given_rows):
        queues = QUEUES[row["topic"]]
        shard = row["sharding_key"]
        queue = None if shard is None else queues[abs(java_hash(shard)) % len(queues)]
        key = row["idempotence_key"] or (
            f"q-1-{number}" if automatic and row["idempotence_key"] is None else None
        )
        expected[row["topic"], queue].append(encode_elements([message_of(row, key)], ["-"]))
    assert seen == expected


def simple(count: int, **columns: Any) -> pa.RecordBatch:
    body = pa.array([b"body %d" % number for number in range(count)])
    return pa.record_batch({"body": body, **{name: pa.array(value) for name, value in columns.items()}})


def test_batches_are_filled_across_frames() -> None:
    cut = batches(SinkOptions("ns:1", topic="orders", batch_bytes=4096))
    found = sent(cut, *[simple(10)] * 50)
    assert [one.count for one in found[:-1]] == [found[0].count] * (len(found) - 1)
    assert found[0].count > 40
    assert sum(one.count for one in found) == 500
    assert [one.rows for one in found[:2]] == [
        (0, found[0].count - 1),
        (found[0].count, 2 * found[0].count - 1),
    ]
    assert found[-1].rows[1] == 499


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "WAITING_BYTES_MAX", 500)
    cut = batches(SinkOptions("ns:1", topic="orders"))
    assert [one.count for one in cut.add(simple(3))] == []
    assert [one.count for one in cut.add(simple(10))] == [13]
    assert list(cut.rest()) == []


def test_long_frames_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "PART_ROWS", 7)
    monkeypatch.setattr(outgoing, "MESSAGES_MAX", 5)
    found = sent(batches(SinkOptions("ns:1", topic="orders")), simple(23))
    assert [one.count for one in found] == [5, 5, 5, 5, 3]
    bodies = [m.body for one in found for m in decode_elements("orders", one.elements)[0]]
    assert bodies == [b"body %d" % number for number in range(23)]


def test_large_bodies_travel_alone_and_in_order() -> None:
    bodies = [b"small 0", b"L" * 5000, b"small 2", b"small 3", b"M" * 4096]
    found = sent(
        batches(SinkOptions("ns:1", topic="orders")),
        pa.record_batch(
            {"value": pa.array(bodies), "sharding_key": ["k"] * 5, "tags": ["t"] * 5, "keys": ["a b"] * 5}
        ),
    )
    queue = QUEUES["orders"][abs(java_hash("k")) % 6]
    assert [(one.queue, one.count, one.rows, one.single is None) for one in found] == [
        (queue, 1, (0, 0), True),
        (queue, 1, (1, 1), False),
        (queue, 2, (2, 3), True),
        (queue, 1, (4, 4), False),
    ]
    assert found[1].single == Message("orders", b"L" * 5000, "t", ["a", "b"])


def test_a_message_larger_than_a_batch_may_be() -> None:
    options = SinkOptions("ns:1", topic="orders", batch_bytes=1024, compress_over_bytes=10_000)
    large = pa.record_batch({"body": [b"a", b"x" * 3000, b"b"], "sharding_key": ["k"] * 3})
    found = sent(batches(options), large)
    assert [(one.count, one.single is None) for one in found] == [(1, True), (1, False), (1, True)]
    # Its properties may be what makes it too large.
    pairs = pa.array([None, [("p", "x" * 3000)], None], MAP)
    found = sent(batches(options), simple(3).append_column("properties", pairs))
    assert [(one.count, one.single) for one in found] == [(1, None), (1, None), (1, None)]
    with_halves = SinkOptions("ns:1", topic="orders", batch_bytes=1024, exactly_once=True)
    found = sent(batches(with_halves), pa.record_batch({"body": [b"x" * 9000]}))
    assert [(one.count, one.single) for one in found] == [(1, None)]


def test_delayed_rows_travel_alone() -> None:
    moment = pa.array([None, None, 1_700_000_000_000_001, None], pa.timestamp("us", tz="UTC"))
    data = simple(4, delay_seconds=[1.5, 0.0, None, None], delay_level=[None, None, None, 3]).append_column(
        "deliver_at", moment
    )
    found = sent(batches(SinkOptions("ns:1", topic="orders")), data)
    delays = {one.rows[0]: dict(one.delay) for one in found if one.single is not None}
    assert delays == {0: {"delay": 1.5}, 2: {"deliver_at": 1_700_000_000_001}, 3: {"delay_level": 3}}
    assert [one.rows for one in found if one.single is None] == [(1, 1)]


def test_a_bad_row_is_named_by_its_number_in_the_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "PART_ROWS", 2)
    cut = batches(SinkOptions("ns:1", topic="orders"), where="partition 4")
    assert list(cut.add(simple(1))) == []
    with pytest.raises(MessageError, match=r"^partition 4, row 4: column tags holds a character 1 or 2"):
        list(cut.add(simple(4, tags=["a", "b", "c", "\x01"])))


def test_a_topic_that_is_not_there() -> None:
    def ask(topic: str) -> Any:
        raise FixError(f"no topic {topic}")

    cut = OutgoingBatches(SinkOptions("ns:1"), ask, UniqueKeys("127.0.0.1@1"))
    with pytest.raises(MessageError, match="row 0: column topic = 'orders': no name server knows it"):
        sent(cut, simple(1, topic=["orders"]))
    named = OutgoingBatches(SinkOptions("ns:1", "orders"), ask, UniqueKeys("127.0.0.1@1"))
    with pytest.raises(FixError, match="no topic orders"):
        sent(named, simple(1))
