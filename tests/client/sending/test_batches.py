"""What travels in one send request."""

import random

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.sending.batches import Encoder
from mqframe.client.settings import ProducerSettings
from mqframe.core.codes import SysFlag
from mqframe.core.errors import MessageError
from mqframe.core.messages.batch import decode_batch
from mqframe.core.messages.compression import Compression, decompress
from mqframe.core.messages.ids import UniqueIds
from mqframe.core.messages.message import Message, MessageQueue


@pytest.fixture
def encoder():
    return Encoder(
        "g",
        UniqueIds(ManualClock(), b"\x7f\0\0\1", 7, 9, lambda now: 0),
        ProducerSettings(body_bytes_max=1000, compress_over_bytes=100),
        Compression.ZLIB,
    )


@pytest.mark.parametrize("size", [99, 100])
def test_bodies_are_packed_from_the_limit_on(encoder, size):
    batch = encoder.one(Message("t", b"x" * size))
    assert bool(batch.sys_flag & SysFlag.COMPRESSED) == (size >= 100)
    body = decompress(batch.body, batch.sys_flag) if size >= 100 else batch.body
    assert body == b"x" * size


def test_a_body_that_packing_would_lengthen_is_sent_as_it_is(encoder):
    body = bytes(range(256))
    batch = encoder.one(Message("t", body))
    assert (batch.body, batch.sys_flag) == (body, 0)


def test_a_body_above_the_limit_is_sent_where_it_fits_when_packed(encoder):
    batch = encoder.one(Message("t", b"x" * 5000))
    assert len(batch.body) < 1000
    assert decompress(batch.body, batch.sys_flag) == b"x" * 5000


def test_a_body_that_does_not_fit_even_when_packed_is_refused_with_both_sizes(encoder):
    with pytest.raises(MessageError, match=r"t has 2560 bytes, \d+ when packed, 1000 are allowed"):
        encoder.one(Message("t", random.Random(3).randbytes(2560)))


def test_ids_differ_and_a_given_one_is_kept(encoder):
    ids = [encoder.one(Message("t", b"x")).message_id for _ in range(100)] + encoder.take_ids(100)
    assert len(set(ids)) == 200
    assert {len(each) for each in ids} == {32}
    assert encoder.one(Message("t", b"x"), "given").message_id == "given"


def test_a_batch_and_its_header(encoder):
    batch = encoder.batch([Message("t", b"a"), Message("t", b"b", flag=3)])
    header = encoder.header(batch, MessageQueue("t", "b", 2), 99)
    assert (header.CODE, header.batch, header.queue_id, header.flag) == (320, True, 2, 0)
    assert (header.broker_name, header.born_timestamp) == ("b", 99)
    assert [(flag, bytes(body)) for flag, body, _ in decode_batch(batch.body)] == [(0, b"a"), (3, b"b")]
    assert batch.message_id == ",".join(batch.ids)


@pytest.mark.parametrize("unit_mode", [False, True])
def test_headers_say_whether_the_client_belongs_to_a_unit(unit_mode):
    ids = UniqueIds(ManualClock(), b"\x7f\0\0\1", 7, 9, lambda now: 0)
    encoder = Encoder("g", ids, ProducerSettings(), Compression.ZLIB, unit_mode)
    header = encoder.header(encoder.one(Message("t", b"a")), MessageQueue("t", "b", 2), 99)
    assert header.unit_mode is unit_mode


def test_a_batch_above_the_limit_is_refused(encoder):
    with pytest.raises(MessageError, match="1000 may be"):
        encoder.batch([Message("t", b"x" * 90)] * 10)
