from __future__ import annotations

import pytest

from mqframe.core.consuming.pull import PullStatus, pull_caps, pull_code, pull_request, read_answer
from mqframe.core.errors import AnswerFix, AnswerRetry, BadAnswer
from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.fields import encode_fields
from mqframe.core.storage.record import encode_record
from mqframe.core.wire.frame import Frame

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
    result = read_answer(
        answer(0, record(3, "a"), offsetDelta="100", nextBeginOffset="109"), QUEUE, TagFilter(), "b:1"
    )
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
    with pytest.raises(BadAnswer, match=r"b:1.*orders"):
        read_answer(answer(0, record(3, "a")[:-1]), QUEUE, TagFilter(), "b:1")
    with pytest.raises(BadAnswer, match="nextBeginOffset"):
        read_answer(answer(19, nextBeginOffset="soon"), QUEUE, TagFilter(), "b:1")


def test_a_reader_in_bulk_says_so_and_others_say_nothing() -> None:
    assert encode_fields(pull_request("g", QUEUE, 5, bulk=True))["mqframeBulk"] == "true"
    assert "mqframeBulk" not in encode_fields(pull_request("g", QUEUE, 5))


@pytest.mark.parametrize(
    ("status", "offset", "code"),
    [
        ("FOUND", 3, 0),
        ("NO_MATCHED_MESSAGE", 3, 20),
        ("MESSAGE_WAS_REMOVING", 3, 20),
        ("OFFSET_FOUND_NULL", 3, 19),
        ("OFFSET_OVERFLOW_ONE", 3, 19),
        ("OFFSET_OVERFLOW_BADLY", 3, 21),
        ("OFFSET_TOO_SMALL", 3, 21),
        ("OFFSET_RESET", 3, 21),
        ("NO_MATCHED_LOGIC_QUEUE", 0, 19),
        ("NO_MATCHED_LOGIC_QUEUE", 3, 21),
        ("NO_MESSAGE_IN_QUEUE", 0, 19),
        ("NO_MESSAGE_IN_QUEUE", 3, 21),
    ],
)
def test_the_outcome_of_a_read_decides_the_code(status, offset, code):
    assert pull_code(status, offset) == code


@pytest.mark.parametrize(
    ("asked", "allowed", "got"),
    [
        ((32, None), (32, 1000), (32, 1000)),
        ((1, 10), (32, 1000), (1, 10)),
        ((500, 2**31 - 1), (32, 1000), (32, 1000)),
        ((0, 0), (32, 1000), (32, 1000)),
        ((-1, -1), (32, 1000), (32, 1000)),
    ],
)
def test_a_pull_gets_what_it_asks_for_within_what_is_allowed(asked, allowed, got):
    assert pull_caps(*asked, *allowed) == got


def other(topic: str = "orders", queue_id: int = 2, offset: int = 5, properties: bytes = b"") -> bytes:
    return encode_record(
        topic=topic,
        queue_id=queue_id,
        queue_offset=offset,
        physical_offset=1,
        body=b"x",
        properties=properties,
        born_timestamp=1,
        born_host=HOST,
        store_timestamp=2,
        store_host=HOST,
    )


@pytest.mark.parametrize(
    "body",
    [
        other(topic="payments"),
        other(queue_id=3),
        other(offset=2),
        other(offset=-1),
        other(offset=5) + other(offset=5),
        other(offset=6) + other(offset=5),
    ],
)
def test_messages_that_were_not_asked_for_are_not_delivered(body: bytes) -> None:
    with pytest.raises(BadAnswer, match=r"offsets 3 to 9: it holds the message at -?\d+ of"):
        read_answer(answer(0, body), QUEUE, TagFilter(), "b:1", 3)


def test_messages_behind_a_gap_may_have_offsets_above_their_places() -> None:
    found = read_answer(answer(0, other(offset=8) + other(offset=12)), QUEUE, TagFilter(), "b:1", 3)
    assert [message.queue_offset for message in found.messages] == [8, 12]


def test_a_message_of_several_queues_names_only_the_one_it_was_sent_to() -> None:
    body = other(topic="first", offset=77, properties=b"INNER_MULTI_DISPATCH\x01orders\x02")
    assert len(read_answer(answer(0, body), QUEUE, TagFilter(), "b:1", 3).messages) == 1


@pytest.mark.parametrize("code", [0, 19, 20, 21])
def test_no_pull_goes_on_at_a_negative_offset(code: int) -> None:
    with pytest.raises(BadAnswer, match="go on at -1"):
        read_answer(answer(code, nextBeginOffset="-1"), QUEUE, TagFilter(), "b:1", 3)


@pytest.mark.parametrize("code", [19, 20])
def test_an_answer_without_messages_does_not_send_a_reader_back(code: int) -> None:
    assert read_answer(answer(code), QUEUE, TagFilter(), "b:1", 30).next_offset == 30
    assert read_answer(answer(code), QUEUE, TagFilter(), "b:1", 3).next_offset == 9


def test_found_messages_must_lead_on() -> None:
    with pytest.raises(BadAnswer, match="asked from offset 9, it says to go on at 9"):
        read_answer(answer(0, other(offset=9)), QUEUE, TagFilter(), "b:1", 9)
    with pytest.raises(BadAnswer, match="asked from offset 30"):
        read_answer(answer(0, other(offset=9)), QUEUE, TagFilter(), "b:1", 30)


def test_an_offset_that_does_not_exist_may_send_a_reader_back() -> None:
    assert read_answer(answer(21), QUEUE, TagFilter(), "b:1", 30).next_offset == 9
