from __future__ import annotations

import contextlib
import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import FRAMES, Recorded
from strategies import bodies, hosts, ints, longs, properties

from mqframe.core.codes import SysFlag
from mqframe.core.messages.addresses import decode_host
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import encode_properties
from mqframe.core.storage.record import (
    MAGIC_V1,
    MAGIC_V2,
    RecordError,
    body_crc,
    copy_record,
    decode_record,
    decode_records,
    encode_record,
)
from mqframe.core.wire.frame import FrameDecoder

STORED = [recorded for recorded in FRAMES if recorded.facts["body"]["is"] == "stored messages"]
topics = st.one_of(
    st.text(st.sampled_from("abc%_-"), min_size=1, max_size=127),
    st.text(st.sampled_from("abc%_-"), min_size=128, max_size=255),
)


def record(**changes: object) -> bytes:
    values = {
        "topic": "t",
        "queue_id": 1,
        "queue_offset": 2,
        "physical_offset": 3,
        "body": b"hello",
        "properties": b"TAGS\x01a\x02",
        "born_timestamp": 4,
        "born_host": bytes(8),
        "store_timestamp": 5,
        "store_host": bytes(8),
        **changes,
    }
    return encode_record(**values)  # type: ignore[arg-type]


def encode_again(message: ReceivedMessage, born_host: bytes, store_host: bytes) -> bytes:
    return encode_record(
        topic=message.topic,
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        physical_offset=message.commit_log_offset,
        body=message.stored_body,
        properties=message.raw_properties.encode(),
        born_timestamp=message.born_timestamp,
        born_host=born_host,
        store_timestamp=message.store_timestamp,
        store_host=store_host,
        flag=message.flag,
        sys_flag=message.sys_flag,
        reconsume_times=message.reconsume_times,
        prepared_transaction_offset=message.prepared_transaction_offset,
    )


def test_there_are_recorded_records() -> None:
    assert len(STORED) > 20


@pytest.mark.parametrize("recorded", STORED, ids=str)
def test_recorded_records_are_read_as_they_were_and_written_the_same(recorded: Recorded) -> None:
    decoder = FrameDecoder()
    decoder.receive(recorded.raw)
    frame = decoder.next_frame()
    assert frame is not None
    at = 0
    for message, facts in zip(decode_records(frame.body), recorded.facts["body"]["messages"], strict=True):
        raw = bytes(frame.body[at : at + facts["size"]])
        assert message.store_size == facts["size"]
        assert message.topic == facts["topic"]
        assert message.queue_id == facts["queueId"]
        assert message.queue_offset == facts["queueOffset"]
        assert message.commit_log_offset == facts["physicalOffset"]
        assert message.sys_flag == facts["sysFlag"]
        assert message.flag == facts["flag"]
        assert message.born_timestamp == facts["bornTimestamp"]
        assert message.store_timestamp == facts["storeTimestamp"]
        assert message.reconsume_times == facts["reconsumeTimes"]
        assert message.prepared_transaction_offset == facts["preparedTransactionOffset"]
        assert message.body_crc == facts["bodyCRC"]
        assert message.properties == facts["properties"]
        assert len(message.stored_body) == facts["bodyLength"]
        assert body_crc(message.stored_body) == message.body_crc
        assert encode_again(message, raw[48:56], raw[64:72]) == raw
        assert hashlib.sha256(message.body).hexdigest() == facts["bodySha256"]
        at += facts["size"]
    assert at == len(frame.body)


@given(
    topics,
    ints,
    longs,
    longs,
    bodies,
    properties,
    longs,
    hosts,
    longs,
    hosts,
    ints,
    st.integers(0, 0xFF),
    ints,
    longs,
)
def test_records_survive(
    topic: str,
    queue_id: int,
    queue_offset: int,
    physical_offset: int,
    body: bytes,
    pairs: dict[str, str],
    born_timestamp: int,
    born_host: bytes,
    store_timestamp: int,
    store_host: bytes,
    flag: int,
    sys_flag: int,
    reconsume_times: int,
    prepared: int,
) -> None:
    sys_flag &= ~SysFlag.COMPRESSED
    raw = encode_record(
        topic=topic,
        queue_id=queue_id,
        queue_offset=queue_offset,
        physical_offset=physical_offset,
        body=body,
        properties=encode_properties(pairs).encode(),
        born_timestamp=born_timestamp,
        born_host=born_host,
        store_timestamp=store_timestamp,
        store_host=store_host,
        flag=flag,
        sys_flag=sys_flag,
        reconsume_times=reconsume_times,
        prepared_transaction_offset=prepared,
    )
    assert struct.unpack_from(">ii", raw) == (len(raw), MAGIC_V1 if len(topic) <= 127 else MAGIC_V2)
    [message] = decode_records(raw, "broker-a")
    hosts_v6 = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
    assert message.topic == topic
    assert message.broker_name == "broker-a"
    assert (message.queue_id, message.queue_offset) == (queue_id, queue_offset)
    assert (message.commit_log_offset, message.store_size) == (physical_offset, len(raw))
    assert (message.body, message.body_crc) == (body, body_crc(body))
    assert message.properties == pairs
    assert (message.born_timestamp, message.store_timestamp) == (born_timestamp, store_timestamp)
    assert (message.born_host, message.store_host) == (decode_host(born_host), decode_host(store_host))
    assert (message.flag, message.reconsume_times) == (flag, reconsume_times)
    assert message.prepared_transaction_offset == prepared
    assert message.sys_flag & ~hosts_v6 == sys_flag & ~hosts_v6
    assert bool(message.sys_flag & SysFlag.BORN_HOST_V6) == (len(born_host) == 20)
    assert bool(message.sys_flag & SysFlag.STORE_HOST_V6) == (len(store_host) == 20)


@given(st.lists(bodies, min_size=1, max_size=4))
def test_several_records_come_in_order(several: list[bytes]) -> None:
    raw = b"".join(record(body=body, queue_offset=n) for n, body in enumerate(several))
    assert [(m.queue_offset, m.body) for m in decode_records(raw)] == list(enumerate(several))


@given(st.integers(0, 100))
def test_a_cut_record_is_an_error(length: int) -> None:
    raw = record()
    with pytest.raises(RecordError):
        decode_record(raw[: min(length, len(raw) - 1)])


@given(st.binary(max_size=150))
def test_any_bytes_give_a_record_or_an_error(data: bytes) -> None:
    with contextlib.suppress(RecordError):
        decode_record(data)


@given(st.data())
def test_a_damaged_record_gives_a_record_or_an_error(data: st.DataObject) -> None:
    raw = bytearray(record())
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(RecordError):
        decode_record(bytes(raw))


def test_a_damaged_body_is_found() -> None:
    raw = bytearray(record())
    raw[88] ^= 1
    message = decode_record(bytes(raw))
    assert body_crc(message.stored_body) != message.body_crc


@given(st.data())
def test_records_read_together_are_those_read_one_by_one(data: st.DataObject) -> None:
    """A pull answer takes a quicker way than a single record; damage, IPv6 and long topics included."""
    several = data.draw(st.lists(st.tuples(topics, bodies, hosts, hosts), min_size=1, max_size=3))
    raw = bytearray(
        b"".join(record(topic=t, body=b, born_host=born, store_host=store) for t, b, born, store in several)
    )
    if data.draw(st.booleans()):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    together, one_by_one = [], []
    with contextlib.suppress(RecordError):
        together.extend(map(_facts, decode_records(memoryview(raw), "broker-a")))
    with contextlib.suppress(RecordError):
        at = 0
        while at < len(raw):
            message = decode_record(bytes(raw), at, "broker-a")
            one_by_one.append(_facts(message))
            at += message.store_size
    assert together == one_by_one


def _facts(message: ReceivedMessage) -> list[object]:
    return [getattr(message, name) for name in ReceivedMessage.__slots__]


def test_a_copy_differs_in_its_place_and_properties_only() -> None:
    given = {
        "flag": 7, "sys_flag": SysFlag.COMPRESSED, "reconsume_times": 3, "prepared_transaction_offset": 9,
        "store_host": bytes(20), "born_timestamp": 11, "store_timestamp": 12,
    }  # fmt: skip
    message = decode_record(record(**given))
    place = {
        "topic": "u",
        "queue_id": 5,
        "queue_offset": 6,
        "physical_offset": 70,
        "properties": b"KEYS\x01k\x02",
    }
    assert copy_record(message, ("u", 5, 6), 70, b"KEYS\x01k\x02") == record(**given, **place)
