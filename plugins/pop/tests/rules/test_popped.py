"""The answer of a pop, read as the Java client reads it."""

from __future__ import annotations

import pytest
from mqframe_pop.rules.popped import PoppedMessage, read_pop

from mqframe.core.errors import AnswerFix, AnswerRetry, BadAnswer
from mqframe.core.storage.record import encode_record
from mqframe.core.wire.frame import Frame

HOST = bytes((127, 0, 0, 1, 0, 0, 0, 1))


def record(offset: int, queue_id: int = 0, topic: str = "orders", times: int = 0, **properties: str) -> bytes:
    return encode_record(
        topic=topic,
        queue_id=queue_id,
        queue_offset=offset,
        physical_offset=offset * 100,
        body=b"body %d" % offset,
        properties="".join(f"{name}\x01{value}\x02" for name, value in properties.items()).encode(),
        born_timestamp=1,
        born_host=HOST,
        store_timestamp=2,
        store_host=HOST,
        reconsume_times=times,
    )


def answer(body: bytes = b"", code: int = 0, **more: str) -> Frame:
    ext = {"popTime": "1000", "invisibleTime": "30000", "reviveQid": "3", "restNum": "7", **more}
    return Frame(code, flag=1, ext=ext, body=memoryview(body))


def read(frame: Frame) -> list[PoppedMessage]:
    return read_pop(frame, "broker-a", "orders", "b:1", 9.0).messages


def handles(frame: Frame) -> list[str]:
    return [message.receipt_handle for message in read(frame)]


def test_handles_come_from_the_offsets_of_the_answer() -> None:
    body = record(5, 1) + record(4, 1) + record(9, 2)
    frame = answer(body, startOffsetInfo="0 1 4;0 2 8", msgOffsetInfo="0 1 4,5;0 2 9")
    assert handles(frame) == [
        "4 1000 30000 3 0 broker-a 1 5",
        "4 1000 30000 3 0 broker-a 1 4",
        "8 1000 30000 3 0 broker-a 2 9",
    ]
    result = read_pop(frame, "broker-a", "orders", "b:1", 9.0)
    assert (result.rest, result.full) == (7, False)
    message = result.messages[0]
    assert message.properties["POP_CK"] == message.receipt_handle
    assert message.properties["1ST_POP_TIME"] == "1000"
    assert (message.broker_name, message.body, message.delivery_attempt) == ("broker-a", b"body 5", 1)
    assert (message.deadline, message.acknowledged) == (9.0, False)
    assert repr(message).startswith("<PoppedMessage orders/1@5 id=")
    assert " attempt=1 " in repr(message)


def test_an_answer_without_offsets_stands_for_itself() -> None:
    frame = answer(record(5, 1) + record(6, 1) + record(9, 2))
    assert handles(frame) == [
        "5 1000 30000 3 0 broker-a 1 5",
        "5 1000 30000 3 0 broker-a 1 6",
        "9 1000 30000 3 0 broker-a 2 9",
    ]


@pytest.mark.parametrize(("retry", "mark"), [("%RETRY%billing_orders", "1"), ("%RETRY%billing+orders", "2")])
def test_what_comes_again_gets_its_topic_back(retry, mark) -> None:
    body = record(2, topic=retry, times=3, **{"1ST_POP_TIME": "500"})
    frame = answer(body, startOffsetInfo=f"{mark} 0 2", msgOffsetInfo=f"{mark} 0 2")
    [message] = read(frame)
    assert message.receipt_handle == f"2 1000 30000 3 {mark} broker-a 0 2"
    assert (message.topic, message.delivery_attempt) == ("orders", 4)
    assert message.properties["1ST_POP_TIME"] == "500"


def test_a_handle_that_the_broker_put_in_is_kept() -> None:
    given = "7 1000 30000 3 1 broker-a 0 7"
    body = record(7, times=1, POP_CK=given) + record(8)
    frame = answer(body, startOffsetInfo="1 0 7;0 0 8", msgOffsetInfo="1 0 7;0 0 8")
    assert handles(frame) == [given, "8 1000 30000 3 0 broker-a 0 8"]


@pytest.mark.parametrize(
    "own",
    [
        "no handle",
        "7 1 1 3 0 broker-z 0 7",
        "7 999 30000 3 1 broker-a 0 7",
        "7 1000 30001 3 1 broker-a 0 7",
        "7 1000 30000 4 2 broker-a 0 7",
        "7 1000 30000 3 1 broker-a 1 7",
        "7 1000 30000 3 1 broker-a 0 8",
    ],
)
def test_a_handle_that_an_application_sent_along_is_no_handle(own) -> None:
    frame = answer(record(7, POP_CK=own), startOffsetInfo="0 0 7", msgOffsetInfo="0 0 7")
    assert handles(frame) == ["7 1000 30000 3 0 broker-a 0 7"]


def test_ordered_pops_tell_how_often_messages_came() -> None:
    frame = answer(
        record(4) + record(5) + record(6, 1),
        reviveQid="999",
        startOffsetInfo="0 0 4;0 1 6",
        msgOffsetInfo="0 0 4,5;0 1 6",
        orderCountInfo="0 0 2;0 qo0%5 4",
    )
    assert [message.delivery_attempt for message in read(frame)] == [3, 5, 1]
    assert handles(frame)[0] == "4 1000 30000 999 0 broker-a 0 4"


@pytest.mark.parametrize(("code", "full"), [(19, False), (209, True), (210, False)])
def test_nothing_found(code, full) -> None:
    assert read_pop(Frame(code, flag=1), "broker-a", "orders", "b:1", 9.0) == ([], 0, full)


def test_other_codes_are_errors() -> None:
    with pytest.raises(AnswerRetry, match="SYSTEM_BUSY"):
        read(Frame(2, flag=1, remark="busy"))
    with pytest.raises(AnswerFix, match="SUBSCRIPTION_PARSE_FAILED"):
        read(Frame(23, flag=1))


@pytest.mark.parametrize(
    "frame",
    [
        Frame(0, flag=1, ext={"popTime": "1"}, body=memoryview(record(1))),
        answer(record(1)[:50]),
        answer(record(1), startOffsetInfo="0 0", msgOffsetInfo="0 0 1"),
        answer(record(1), startOffsetInfo="0 5 1", msgOffsetInfo="0 5 1"),
        answer(record(1) + record(2), startOffsetInfo="0 0 1", msgOffsetInfo="0 0 1"),
        answer(record(1), startOffsetInfo="0 0 1", msgOffsetInfo="0 0 one"),
    ],
    ids=["no fields", "cut record", "cut text", "another queue", "too few offsets", "no number"],
)
def test_an_answer_that_cannot_be_read_says_why(frame) -> None:
    with pytest.raises(BadAnswer, match="pop answer of b:1 for orders"):
        read(frame)


def test_hiding_anew_changes_handle_property_and_deadline() -> None:
    [message] = read(answer(record(1)))
    message.hidden_anew("1 2000 60000 3 0 broker-a 0 1", 99.0)
    assert message.receipt_handle == message.properties["POP_CK"] == "1 2000 60000 3 0 broker-a 0 1"
    assert message.deadline == 99.0


def test_messages_of_another_topic_are_not_delivered() -> None:
    with pytest.raises(BadAnswer, match="topic payments was not asked for"):
        read(answer(record(3, topic="payments")))
