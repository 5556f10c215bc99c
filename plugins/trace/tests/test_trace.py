"""The hooks, over a port that keeps what it is handed."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from mqframe_trace import ConsumeTrace, SendTrace, TraceOptions

from mqframe.core.errors import CallTimeout, FixError, SettingError
from mqframe.core.host import encode_host
from mqframe.core.message import Message, MessageQueue, ReceivedMessage, SendResult, SendStatus
from mqframe.core.trace import ConsumeCode, TraceKind, TraceMessageType, TraceRecord, decode_records
from mqframe.hooks.interfaces import ConsumeContext, SendContext
from mqframe.hooks.manager import PluginManager
from mqframe.testing.conformance import ConsumeHookConformance, SendHookConformance

QUEUE = MessageQueue("orders", "broker-a", 1)
ADDRESS = "10.0.0.9:10911"


class Port:
    """Keeps messages and periodic calls. `full`: takes nothing more."""

    def __init__(self) -> None:
        self.client_id = "10.0.0.1@42"
        self.sent: list[Message] = []
        self.actions: list[tuple[float, Callable[[], None]]] = []
        self.full = False
        self.now = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.now

    def send(self, message: Message) -> bool:
        if not self.full:
            self.sent.append(message)
        return not self.full

    def every(self, seconds: float, action: Callable[[], None]) -> None:
        self.actions.append((seconds, action))

    @property
    def records(self) -> list[TraceRecord]:
        return [record for message in self.sent for record in decode_records(message.body.decode())]


def sent_result(**changes: object) -> SendResult:
    fields = {
        "status": SendStatus.SEND_OK, "message_id": "ID1", "queue": QUEUE, "queue_offset": 7,
        "offset_message_id": "OFF1", "region_id": "R",
    }  # fmt: skip
    return SendResult(**(fields | changes))


def send_once(hook: SendTrace, port: Port, result: SendResult | None, *messages: Message) -> None:
    batch = messages or (Message("orders", b"body", "paid", ["k1", "k2"]),)
    ids = [f"ID{number}" for number in range(1, len(batch) + 1)]
    context = SendContext("shop", batch, ids, QUEUE, ADDRESS, "sync", port.now)
    hook.before(context)
    port.now += 12
    context.result = result
    context.error = None if result else CallTimeout("3 s")
    hook.after(context)


def attached(kind: type, **options: object) -> tuple:
    hook, port = kind(TraceOptions(**options)), Port()
    hook.attach(port)
    return hook, port


class TestSendConformance(SendHookConformance):
    def make(self) -> SendTrace:
        return attached(SendTrace)[0]


class TestConsumeConformance(ConsumeHookConformance):
    def make(self) -> ConsumeTrace:
        return attached(ConsumeTrace)[0]


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


def test_a_full_batch_leaves_at_once_one_message_for_each_topic() -> None:
    hook, port = attached(SendTrace, batch_records_max=4)
    other = MessageQueue("bills", "broker-a", 0)
    for number in range(4):
        queue = other if number == 2 else QUEUE
        context = SendContext("shop", [Message(queue.topic, b"x")], ["I"], queue, ADDRESS, "async", 0)
        hook.before(context)
        context.result = sent_result(message_id=f"ID{number}", queue=queue)
        hook.after(context)
    assert [[r.message_id for r in decode_records(m.body.decode())] for m in port.sent] == [
        ["ID0", "ID1", "ID3"],
        ["ID2"],
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


def test_what_does_not_fit_is_dropped_and_counted() -> None:
    hook, port = attached(SendTrace, batch_records_max=1000, waiting_records_max=3)
    for _ in range(5):
        send_once(hook, port, sent_result())
    assert hook.outbox.dropped == 2
    port.full = True
    hook.detach()
    assert (hook.outbox.dropped, port.sent) == (5, [])
    send_once(hook, port, sent_result())
    assert hook.outbox.dropped == 5, "nothing is told, and nothing counted, after the stop"


def test_a_hook_watches_one_client_at_a_time() -> None:
    hook, port = attached(SendTrace)
    with pytest.raises(FixError, match="one client"):
        hook.attach(Port())
    hook.detach()
    hook.attach(port)


def consume(hook: ConsumeTrace, port: Port, outcome: str, *properties: bytes) -> None:
    host = encode_host(ADDRESS)
    messages = [
        ReceivedMessage(
            "orders", 1, number, 0, 200, 1, 2, host, host, 0, 0, 0, 0, 0, b"body",
            b"KEYS\x01o-1\x02UNIQ_KEY\x017F00000100\x02" + text, "broker-a",
        )
        for number, text in enumerate(properties)
    ]  # fmt: skip
    context = ConsumeContext("billing", messages, QUEUE, "10.0.0.1@42")
    hook.before(context)
    port.now += 90
    context.outcome, context.success, context.elapsed_seconds = outcome, outcome == "success", 0.090
    hook.after(context)


REGION = b"MSG_REGION\x01R\x02"


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("success", ConsumeCode.SUCCESS),
        ("timeout", ConsumeCode.TIMEOUT),
        ("exception", ConsumeCode.EXCEPTION),
        ("null", ConsumeCode.NULL),
        ("failed", ConsumeCode.FAILED),
    ],
)
def test_a_listeners_call_is_told_before_and_after(outcome: str, code: ConsumeCode) -> None:
    hook, port = attached(ConsumeTrace)
    consume(hook, port, outcome, REGION, REGION)
    hook.detach()
    records = port.records
    assert [record.kind for record in records] == [TraceKind.SUB_BEFORE] * 2 + [TraceKind.SUB_AFTER] * 2
    assert {record.message_id for record in records} == {"7F00000100"}
    assert len({record.request_id for record in records}) == 1
    before, after = records[0], records[2]
    assert (before.time_ms, before.region, before.group, before.keys) == (
        1_700_000_000_000,
        "R",
        "billing",
        "o-1",
    )
    assert (after.time_ms, after.cost_ms, after.consume_code) == (1_700_000_000_090, 45, code)
    assert (after.success, after.group) == (outcome == "success", "billing")


def test_messages_whose_broker_wants_no_traces_are_left_out() -> None:
    hook, port = attached(ConsumeTrace)
    consume(hook, port, "success", REGION + b"TRACE_ON\x01false\x02", REGION + b"TRACE_ON\x01true\x02", b"")
    hook.detach()
    assert len(port.records) == 2
    consume(hook, port, "success", b"")
    assert hook.outbox.dropped == 0


def test_both_are_found_by_name_with_their_options() -> None:
    manager = PluginManager()
    hook = manager.create("send_hook", "trace", {"topic": "traces", "batch_records_max": 5})
    assert isinstance(hook, SendTrace)
    assert (hook.outbox.options.topic, hook.outbox.options.batch_records_max) == ("traces", 5)
    assert isinstance(manager.create("consume_hook", "trace"), ConsumeTrace)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_records_max": 0},
        {"waiting_records_max": 0},
        {"flush_seconds": 0.0},
        {"unknown": 1},
        {"topic": 7},
    ],
)
def test_bad_options_are_named(options: dict[str, object]) -> None:
    with pytest.raises(SettingError, match=next(iter(options))):
        PluginManager().create("send_hook", "trace", options)


def test_options_are_a_settings_class() -> None:
    assert attrs.has(TraceOptions)
