from __future__ import annotations

import pytest

from mqframe.core.errors import AnswerFix, AnswerRetry, BodyError
from mqframe.core.frame import Frame
from mqframe.core.message import MessageQueue
from mqframe.core.pull import PullStatus, pull_request, read_answer
from mqframe.core.record import encode_record
from mqframe.core.requests.fields import encode_fields
from mqframe.core.tag_filter import TagFilter

QUEUE = MessageQueue("orders", "broker-a", 2)
HOST = bytes((127, 0, 0, 1, 0, 0, 0, 1))


def record(offset: int, tag: str) -> bytes:
    return encode_record(
        topic="orders",
        queue_id=2,
        queue_offset=offset,
        physical_offset=offset * 100,
        body=b"body %d" % offset,
        properties=f"TAGS\x01{tag}\x02".encode(),
        born_timestamp=1,
        born_host=HOST,
        store_timestamp=2,
        store_host=HOST,
    )


def answer(code: int, body: bytes = b"", **more: str) -> Frame:
    ext = {"suggestWhichBrokerId": "1", "nextBeginOffset": "9", "minOffset": "3", "maxOffset": "20", **more}
    return Frame(code, flag=1, ext=ext, body=memoryview(body))


def test_flags_say_what_the_request_carries() -> None:
    plain = pull_request("g", QUEUE, 5)
    assert (plain.sys_flag, plain.commit_offset, plain.suspend_timeout_millis) == (0, 0, 0)
    full = pull_request("g", QUEUE, 5, expression="a", wait_seconds=15, commit_offset=4, version=8)
    assert full.sys_flag == 1 | 2 | 4
    assert (full.commit_offset, full.suspend_timeout_millis, full.subscription) == (4, 15_000, "a")
    assert (full.topic, full.queue_id, full.queue_offset, full.sub_version) == ("orders", 2, 5, 8)
    assert full.bname == "broker-a"
    lite = pull_request("g", QUEUE, 5, expression="a", wait_seconds=10, lite=True)
    assert (lite.CODE, lite.sys_flag) == (361, 2 | 4 | 16)


def test_found_messages_are_filtered_by_text() -> None:
    body = record(3, "Aa") + record(4, "BB") + record(5, "Aa")
    result = read_answer(answer(0, body), QUEUE, TagFilter("Aa"), "b:1")
    assert result.status is PullStatus.FOUND
    assert [(m.queue_offset, m.body, m.queue) for m in result.messages] == [
        (3, b"body 3", QUEUE),
        (5, b"body 5", QUEUE),
    ]
    assert result[2:] == (9, 3, 20, 1)


def test_offset_delta_of_moved_queues() -> None:
    result = read_answer(answer(0, record(3, "a"), offsetDelta="100"), QUEUE, TagFilter(), "b:1")
    assert [m.queue_offset for m in result.messages] == [103]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (19, PullStatus.NO_NEW_MSG),
        (20, PullStatus.NO_MATCHED_MSG),
        (21, PullStatus.OFFSET_ILLEGAL),
    ],
)
def test_outcomes_without_messages(code, status) -> None:
    result = read_answer(answer(code), QUEUE, TagFilter(), "b:1")
    assert (result.status, list(result.messages), result.next_offset) == (status, [], 9)


def test_other_codes_are_errors() -> None:
    with pytest.raises(AnswerRetry):
        read_answer(Frame(2, flag=1, remark="busy"), QUEUE, TagFilter(), "b:1")
    with pytest.raises(AnswerFix, match="SUBSCRIPTION_NOT_EXIST"):
        read_answer(Frame(24, flag=1), QUEUE, TagFilter(), "b:1")


def test_damaged_answers_name_broker_and_queue() -> None:
    with pytest.raises(BodyError, match=r"b:1.*orders"):
        read_answer(answer(0, record(3, "a")[:-1]), QUEUE, TagFilter(), "b:1")
    with pytest.raises(BodyError, match="nextBeginOffset"):
        read_answer(answer(19, nextBeginOffset="soon"), QUEUE, TagFilter(), "b:1")


def test_a_reader_in_bulk_says_so_and_others_say_nothing() -> None:
    assert encode_fields(pull_request("g", QUEUE, 5, bulk=True))["mqframeBulk"] == "true"
    assert "mqframeBulk" not in encode_fields(pull_request("g", QUEUE, 5))
