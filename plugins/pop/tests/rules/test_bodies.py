import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_pop.rules.bodies import AckBody, BatchAck, BatchAckBody, CheckPointBody, bits_of

from mqframe.core.errors import BodyError
from mqframe.core.wire.loose_json import decode, dumps


@given(st.sets(st.integers(0, 300), max_size=32))
def test_bits_stand_for_offsets(distances: set[int]):
    ack = BatchAck("g", "t", 10, 0, 0, 1, 2, bits=bits_of(distances))
    assert ack.offsets() == [10 + distance for distance in sorted(distances)]


def test_bits_lie_as_in_a_java_bit_set():
    assert bits_of([0]) == "AQ=="
    assert bits_of([1, 9]) == "AgI="


def test_a_batch_of_a_java_client_is_read():
    text = (
        b'{"acks":[{"b":"Bw==","c":"g","it":30000,"pt":5,"q":1,"r":"1","rq":3,"so":7,"t":"t"}],'
        b'"brokerName":"broker-a"}'
    )
    body = decode(text, BatchAckBody)
    assert body.broker_name == "broker-a"
    assert body.acks == [BatchAck("g", "t", 7, 1, 3, 5, 30000, "1", "Bw==")]
    assert body.acks[0].offsets() == [7, 8, 9]


def test_bits_that_are_none_are_named():
    with pytest.raises(BodyError, match="'!'"):
        BatchAck("g", "t", 0, 0, 0, 1, 2, bits="!").offsets()


def test_no_pop_has_more_messages_than_one_may_take():
    far = BatchAck("g", "t", 0, 0, 0, 1, 2, bits=bits_of([*range(31), 8_000_000]))
    assert far.offsets() == [*range(31), 8_000_000]
    many = BatchAck("g", "t", 0, 0, 0, 1, 2, bits=bits_of(range(33)))
    with pytest.raises(BodyError, match="33 messages of one pop, which takes at most 32"):
        many.offsets()


def test_stored_pops_have_the_reference_s_names():
    body = CheckPointBody(
        topic="t", group="g", queue_id=1, start_offset=5, pop_time=10, invisible_time=20, bits=1, count=2,
        distances=[0, 3], broker_name="b",
    )  # fmt: skip
    text = dumps(body)
    assert text == (b'{"t":"t","c":"g","q":1,"so":5,"pt":10,"it":20,"bm":1,"n":2,"ro":0,"d":[0,3],"bn":"b"}')
    assert decode(text, CheckPointBody) == body
    ack = AckBody(topic="t", group="g", queue_id=1, start_offset=5, pop_time=10, offset=8, broker_name="b")
    assert dumps(ack) == b'{"t":"t","c":"g","q":1,"so":5,"pt":10,"ao":8,"bn":"b"}'
