"""What is told of listeners' calls."""

import pytest
from mqframe_testing.conformance import ConsumeHookConformance
from mqframe_trace import ConsumeTrace
from mqframe_trace.records import ConsumeCode, TraceKind
from traced import ADDRESS, QUEUE, Port, attached

from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import ReceivedMessage
from mqframe.hooks.interfaces import ConsumeContext


class TestConsumeConformance(ConsumeHookConformance):
    def make(self) -> ConsumeTrace:
        return attached(ConsumeTrace)[0]


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
    begun = [record for record in port.records if record.kind is TraceKind.SUB_BEFORE]
    assert (len(port.records), [record.region for record in begun]) == (4, ["R", ""])  # 4.x marks no region
    consume(hook, port, "success", b"")
    assert hook.outbox.dropped == 0
