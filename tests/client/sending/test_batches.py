"""What travels in one send request."""

import pytest

from mqframe.client.load import Loader
from mqframe.core.batch import decode_batch
from mqframe.core.codes import SysFlag
from mqframe.core.compression import Compression, decompress
from mqframe.core.errors import MessageError
from mqframe.core.ids import UniqueIds
from mqframe.core.message import Message, MessageQueue
from mqframe.testing.manual_clock import ManualClock


@pytest.fixture
def loader():
    return Loader(
        "g",
        UniqueIds(ManualClock(), b"\x7f\0\0\1", 7, 9, lambda now: 0),
        default_topic="TBW102",
        default_topic_queues=4,
        body_bytes_max=1000,
        compress_over_bytes=100,
        compression=Compression.ZLIB,
        compression_level=5,
    )


@pytest.mark.parametrize("size", [99, 100])
def test_bodies_are_packed_from_the_limit_on(loader, size):
    load = loader.one(Message("t", b"x" * size))
    assert bool(load.sys_flag & SysFlag.COMPRESSED) == (size >= 100)
    body = decompress(load.body, load.sys_flag) if size >= 100 else load.body
    assert body == b"x" * size


def test_ids_differ_and_a_given_one_is_kept(loader):
    ids = [loader.one(Message("t", b"x")).message_id for _ in range(100)] + loader.take_ids(100)
    assert len(set(ids)) == 200
    assert {len(each) for each in ids} == {32}
    assert loader.one(Message("t", b"x"), "given").message_id == "given"


def test_a_batch_and_its_header(loader):
    load = loader.batch([Message("t", b"a"), Message("t", b"b", flag=3)])
    header = loader.header(load, MessageQueue("t", "b", 2), 99)
    assert (header.CODE, header.batch, header.queue_id, header.flag) == (320, True, 2, 0)
    assert (header.broker_name, header.born_timestamp) == ("b", 99)
    assert [(flag, bytes(body)) for flag, body, _ in decode_batch(load.body)] == [(0, b"a"), (3, b"b")]
    assert load.message_id == ",".join(load.ids)


def test_a_batch_above_the_limit_is_refused(loader):
    with pytest.raises(MessageError, match="1000 may be"):
        loader.batch([Message("t", b"x" * 90)] * 10)
