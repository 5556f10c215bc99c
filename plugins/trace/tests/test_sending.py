"""What is told of sends."""

import attrs
import pytest
from mqframe_testing.conformance import SendHookConformance
from mqframe_trace import SendTrace
from mqframe_trace.records import TraceMessageType
from traced import ADDRESS, attached, send_once, sent_result

from mqframe.core.messages.message import Message, MessageQueue, SendResult, SendStatus
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.hooks.interfaces import SendContext, TransactionEnd


class TestSendConformance(SendHookConformance):
    def make(self) -> SendTrace:
        return attached(SendTrace)[0]


class TestUnattached(SendHookConformance):
    """Before the client starts."""

    def make(self) -> SendTrace:
        return SendTrace()


def test_a_send_is_told_once_the_time_is_over() -> None:
    hook, port = attached(SendTrace)
    send_once(hook, port, sent_result())
    assert port.sent == []
    ((seconds, flush),) = port.actions
    flush()
    (message,) = port.sent
    assert (seconds, message.topic, list(message.keys)) == (5.0, "RMQ_SYS_TRACE_TOPIC", ["ID1", "k1", "k2"])
    assert message.body.decode().split("\x01") == [
        *["Pub", "1700000000000", "R", "shop", "orders", "ID1", "paid", "k1 k2", ADDRESS, "4", "12", "0"],
        *["OFF1", "true\x02"],
    ]


def test_each_message_of_a_batch_is_told_under_its_own_id() -> None:
    hook, port = attached(SendTrace)
    result = sent_result(message_id="ID1,ID2", offset_message_id="OFF1,OFF2")
    send_once(hook, port, result, Message("orders", b"a"), Message("orders", b"bcd"))
    hook.detach()
    found = [(r.message_id, r.offset_message_id, r.body_length, r.tags) for r in port.records]
    assert found == [("ID1", "OFF1", 1, ""), ("ID2", "OFF2", 3, "")]


@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({}, TraceMessageType.NORMAL),
        ({"TRAN_MSG": "true"}, TraceMessageType.TRANSACTION_HALF),
        ({"DELAY": "3"}, TraceMessageType.DELAY),
        ({"TIMER_DELIVER_MS": "1"}, TraceMessageType.DELAY),
    ],
)
def test_the_kind_of_a_message(properties: dict[str, str], kind: TraceMessageType) -> None:
    hook, port = attached(SendTrace)
    send_once(hook, port, sent_result(), Message("orders", b"x", properties=properties))
    hook.detach()
    assert [record.message_type for record in port.records] == [kind]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (sent_result(), [True]),
        (sent_result(status=SendStatus.FLUSH_DISK_TIMEOUT), [False]),
        (sent_result(trace_on=False), []),
        (None, []),
    ],
)
def test_what_is_told_depends_on_the_brokers_answer(result: SendResult | None, told: list[bool]) -> None:
    hook, port = attached(SendTrace)
    send_once(hook, port, result)
    hook.detach()
    assert [record.success for record in port.records] == told


def test_traces_are_not_traced() -> None:
    hook, port = attached(SendTrace)
    queue = MessageQueue("RMQ_SYS_TRACE_TOPIC", "broker-a", 0)
    context = SendContext("shop", [Message(queue.topic, b"x")], ["I"], queue, ADDRESS, "sync", 0)
    hook.before(context)
    context.result = sent_result(queue=queue)
    hook.after(context)
    hook.detach()
    assert port.sent == []


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (TransactionOutcome.COMMIT, "COMMIT_MESSAGE"),
        (TransactionOutcome.ROLLBACK, "ROLLBACK_MESSAGE"),
        (TransactionOutcome.UNKNOWN, "UNKNOW"),
    ],
)
def test_the_end_of_a_transaction_is_told(outcome: TransactionOutcome, state: str) -> None:
    hook, port = attached(SendTrace)
    half = Message("orders", b"x", "paid", ["k1", "k2"])
    end = TransactionEnd("shop", half, "ID1", "ID1", outcome, ADDRESS, True, "R", True)
    hook.transaction_ended(end)
    hook.transaction_ended(attrs.evolve(end, trace_on=False))
    hook.detach()
    hook.transaction_ended(end)
    (message,) = port.sent
    assert list(message.keys) == ["ID1", "k1", "k2"]
    assert message.body.decode().split("\x01") == [
        *["EndTransaction", "1700000000000", "R", "shop", "orders", "ID1", "paid", "k1 k2", ADDRESS],
        *["2", "ID1", state, "true\x02"],
    ]
