import random

import numpy as np
import pyarrow as pa
import pytest
from mqframe_spark.records.record_columns import record_batch
from mqframe_spark.records.schema import ARROW_SCHEMA

from mqframe.core.errors import GiveUpError
from mqframe.core.messages import properties as p
from mqframe.core.messages.compression import Compression, compress
from mqframe.core.storage.record import RecordError, decode_record, encode_record

V4 = bytes((1, 2, 3, 4, 0, 0, 1, 0))
V6 = bytes(range(16)) + bytes((0, 0, 9, 0))


class Stretch:
    """Records of all kinds, with gaps between them."""

    def __init__(self, count: int = 300, *, hosts: bool = True, topic: str = "orders") -> None:
        random.seed(count)
        self.topic = topic
        self.starts: list[int] = []
        self.sizes: list[int] = []
        self.physical: list[int] = []
        self.data = bytearray()
        for number in range(count):
            self.add(number, hosts)

    def add(self, number: int, hosts: bool) -> None:
        body, sys_flag = random.randbytes(random.randrange(1, 50)), 0
        if number % 7 == 3:
            body, sys_flag = compress(b"hello" * 40, Compression.ZLIB)
        properties = {"TAGS": "a"} if number % 3 else {}
        if number % 5:
            properties["UNIQ_KEY"] = f"U{number}"
        if number % 11 == 0:
            properties["KEYS"] = "x größer"
        self.data += random.randbytes(random.randrange(4))
        physical = 1000 + len(self.data)
        record = encode_record(
            topic=self.topic,
            queue_id=number % 3,
            queue_offset=number,
            physical_offset=physical,
            body=body,
            properties=p.encode_properties(properties).encode(),
            born_timestamp=1_700_000_000_000 + number,
            born_host=V6 if hosts and number % 4 == 1 else V4,
            store_timestamp=1_700_000_001_000 + number,
            store_host=V6 if hosts and number % 6 == 1 else V4,
            sys_flag=sys_flag,
            reconsume_times=number % 2,
            flag=-number,
        )
        self.starts.append(len(self.data))
        self.sizes.append(len(record))
        self.physical.append(physical)
        self.data += record

    def batch(self, columns=ARROW_SCHEMA.names) -> pa.RecordBatch:
        made = record_batch(
            pa.py_buffer(bytes(self.data)), np.array(self.starts), np.array(self.sizes),
            np.array(self.physical), self.topic, "br", columns,
        )  # fmt: skip
        made.validate(full=True)
        return made


@pytest.mark.parametrize("hosts", [False, True])
@pytest.mark.parametrize("topic", ["t", "orders", "%RETRY%" + "g" * 125])
def test_every_field_is_what_a_single_record_says(hosts, topic) -> None:
    stretch = Stretch(hosts=hosts, topic=topic)
    for row, start in zip(stretch.batch().to_pylist(), stretch.starts, strict=True):
        message = decode_record(bytes(stretch.data), start, "br")
        properties = message.properties
        assert dict(row.pop("properties")) == properties
        assert round(row.pop("born_timestamp").timestamp() * 1000) == message.born_timestamp
        assert round(row.pop("store_timestamp").timestamp() * 1000) == message.store_timestamp
        assert row == {
            "topic": message.topic,
            "broker": "br",
            "queue_id": message.queue_id,
            "queue_offset": message.queue_offset,
            "commitlog_offset": message.commit_log_offset,
            "msg_id": message.message_id,
            "unique_key": properties.get("UNIQ_KEY"),
            "tags": message.tag,
            "keys": properties.get("KEYS"),
            "sys_flag": message.sys_flag,
            "body": message.body,
            "flag": message.flag,
            "born_host": message.born_host,
            "store_host": message.store_host,
            "reconsume_times": message.reconsume_times,
        }


@pytest.mark.parametrize("columns", [["queue_offset"], ["body", "msg_id"], ["keys", "topic"]])
def test_only_the_wanted_columns_are_made_in_their_order(columns) -> None:
    stretch = Stretch(40)
    assert stretch.batch(columns).equals(stretch.batch().select(columns))


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        (0, b"\x7f", "another size"),
        (4, b"\x00", "does not begin"),
        (30, b"\xff", "lies elsewhere"),
        (84, b"\x7f", "body that does not fit"),
    ],
)
def test_a_damaged_record_is_named(at, value, said) -> None:
    stretch = Stretch(9, hosts=False)
    place = stretch.starts[4] + at
    stretch.data[place : place + 1] = value
    with pytest.raises(RecordError, match=f"commit-log offset {stretch.physical[4]} .*{said}"):
        stretch.batch()


def test_a_record_behind_the_end_is_named() -> None:
    stretch = Stretch(3, hosts=False)
    del stretch.data[-1:]
    with pytest.raises(RecordError, match=f"{stretch.physical[2]} ends behind"):
        stretch.batch()


def test_a_body_that_cannot_be_unpacked_is_named() -> None:
    stretch = Stretch(4, hosts=False)
    place = stretch.starts[3] + 88
    stretch.data[place : place + 2] = b"\x00\x00"
    with pytest.raises(
        GiveUpError, match=f"topic orders, the record at commit-log offset {stretch.physical[3]}"
    ):
        stretch.batch()
    assert stretch.batch(["queue_offset"]).num_rows == 4


def test_no_records() -> None:
    assert Stretch(0).batch().num_rows == 0
