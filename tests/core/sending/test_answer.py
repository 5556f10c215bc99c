import pytest

from mqframe.core.errors import AnswerFix, AnswerRetry, HeaderError
from mqframe.core.frame import Frame
from mqframe.core.message import MessageQueue, SendStatus
from mqframe.core.send_answer import read_send_answer, split_send_result

QUEUE = MessageQueue("t", "b", 3)
EXT = {"msgId": "OFF", "queueId": "3", "queueOffset": "7", "MSG_REGION": "eu", "TRACE_ON": "false"}


@pytest.mark.parametrize(
    ("code", "status"),
    [(0, "SEND_OK"), (10, "FLUSH_DISK_TIMEOUT"), (11, "SLAVE_NOT_AVAILABLE"), (12, "FLUSH_SLAVE_TIMEOUT")],
)
def test_four_codes_mean_stored(code, status):
    result = read_send_answer(Frame(code, ext=EXT), QUEUE, "ID", "b:1")
    assert result.status is SendStatus[status]
    assert (result.message_id, result.offset_message_id, result.queue, result.queue_offset) == (
        "ID",
        "OFF",
        QUEUE,
        7,
    )
    assert (result.region_id, result.trace_on) == ("eu", False)


def test_the_broker_may_choose_another_queue_id():
    result = read_send_answer(Frame(0, ext={**EXT, "queueId": "1"}), QUEUE, "ID", "b:1")
    assert result.queue == MessageQueue("t", "b", 1)


def test_defaults():
    ext = {"msgId": "OFF", "queueId": "3", "queueOffset": "7"}
    result = read_send_answer(Frame(0, ext=ext), QUEUE, "ID", "b:1")
    assert (result.region_id, result.trace_on, result.transaction_id) == ("DefaultRegion", True, None)


@pytest.mark.parametrize(("code", "kind"), [(2, AnswerRetry), (13, AnswerFix), (16, AnswerFix)])
def test_other_codes_are_errors_with_code_and_remark(code, kind):
    with pytest.raises(kind, match="why") as caught:
        read_send_answer(Frame(code, remark="why"), QUEUE, "ID", "b:1")
    assert caught.value.code == code


@pytest.mark.parametrize("ext", [None, {}, {"msgId": "x", "queueId": "1"}, {**EXT, "queueOffset": "x"}])
def test_an_answer_without_its_fields(ext):
    with pytest.raises(HeaderError):
        read_send_answer(Frame(0, ext=ext), QUEUE, "ID", "b:1")


def test_a_batch_result_is_split():
    result = read_send_answer(Frame(0, ext={**EXT, "msgId": "A,B"}), QUEUE, "I,J", "b:1")
    parts = split_send_result(result, ["I", "J"])
    assert [(p.message_id, p.offset_message_id, p.queue_offset) for p in parts] == [
        ("I", "A", 7),
        ("J", "B", 8),
    ]


def test_a_batch_result_without_the_ids_of_all():
    result = read_send_answer(Frame(0, ext=EXT), QUEUE, "I,J", "b:1")
    assert [p.offset_message_id for p in split_send_result(result, ["I", "J"])] == ["", ""]
