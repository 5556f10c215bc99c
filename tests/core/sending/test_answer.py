import pytest

from mqframe.core.errors import AnswerFix, AnswerRetry, BadAnswer
from mqframe.core.messages.message import MessageQueue, SendStatus
from mqframe.core.sending.answer import read_send_answer, split_send_result
from mqframe.core.wire.frame import Frame

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
    with pytest.raises(BadAnswer):
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


def test_an_answer_that_names_another_message_is_that_one_s_result():
    answer = Frame(0, ext={**EXT, "transactionId": "FIRST"})
    assert read_send_answer(answer, QUEUE, "SECOND", "b:1").message_id == "FIRST"
    assert read_send_answer(answer, QUEUE, "I,J", "b:1").message_id == "I,J"
    assert read_send_answer(Frame(0, ext={**EXT, "transactionId": ""}), QUEUE, "I", "b:1").message_id == "I"


def test_messages_of_a_batch_that_were_there_already_are_said_to_lie_elsewhere():
    ext = {**EXT, "msgId": "A,B", "batchPlaces": "3:70,0:5"}
    result = read_send_answer(Frame(0, ext=ext), QUEUE, "I,J", "b:1")
    parts = split_send_result(result, ["I", "J"])
    assert [(p.message_id, p.queue.queue_id, p.queue_offset, p.offset_message_id) for p in parts] == [
        ("I", 3, 70, "A"),
        ("J", 0, 5, "B"),
    ]
    for bad in ("3:70", "3:70,0:5,0:6", "3:70,x:5", "3:70,5", ""):
        result = read_send_answer(Frame(0, ext={**ext, "batchPlaces": bad}), QUEUE, "I,J", "b:1")
        with pytest.raises(BadAnswer, match="batch of 2 messages"):
            split_send_result(result, ["I", "J"])
