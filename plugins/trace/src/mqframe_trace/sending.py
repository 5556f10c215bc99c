"""Traces of sends (SendMessageTraceHookImpl.java) and of ends of transactions."""

from __future__ import annotations

from typing import Final

from mqframe.core.messages import properties as p
from mqframe.core.messages.message import Message, SendResult, SendStatus
from mqframe.core.sending.answer import split_send_result
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.hooks.interfaces import HookPort, SendContext, SendHook, TransactionEnd
from mqframe_trace.outbox import PRODUCER_GROUP, Outbox, TraceOptions
from mqframe_trace.records import TraceKind, TraceMessageType, TraceRecord

_STARTED: Final = "trace.started_ms"
_DELAYED: Final = (p.DELAY, p.TIMER_DELIVER_MS, p.TIMER_DELAY_SEC, p.TIMER_DELAY_MS)
_STATES: Final = {
    TransactionOutcome.COMMIT: "COMMIT_MESSAGE",
    TransactionOutcome.ROLLBACK: "ROLLBACK_MESSAGE",
    TransactionOutcome.UNKNOWN: "UNKNOW",
}
"""As in LocalTransactionState.java, whose readers know no other."""


class SendTrace(SendHook):
    """Tells of sends that brokers answered, and of ends of transactions, unless they want no traces."""

    name = "trace"
    producer_group = PRODUCER_GROUP
    Options = TraceOptions

    def __init__(self, options: TraceOptions | None = None) -> None:
        self.outbox = Outbox(options or TraceOptions())

    def attach(self, port: HookPort) -> None:
        """Begin to send."""
        self.outbox.open(port)

    def detach(self) -> None:
        """Send what is left."""
        self.outbox.close()

    def before(self, context: SendContext) -> None:
        """Note the time."""
        port = self.outbox.port
        if port is not None:
            context.extras[_STARTED] = port.now_ms()

    def after(self, context: SendContext) -> None:
        """Tell of the send. Without an answer of the broker nothing is told, as there."""
        result, started, port = context.result, context.extras.get(_STARTED), self.outbox.port
        if result is None or port is None or not isinstance(started, int):
            return
        topic = context.queue.topic
        if not result.trace_on or topic.startswith(self.outbox.options.topic):
            return
        cost = max(0, port.now_ms() - started)
        results = [result]
        if len(context.messages) > 1:
            results = split_send_result(result, list(context.message_ids))
        self.outbox.append(
            topic,
            [
                _record(context, message, one, started, cost)
                for message, one in zip(context.messages, results, strict=False)
            ],
        )

    def transaction_ended(self, end: TransactionEnd) -> None:
        """Tell how a transaction ended (EndTransactionTraceHookImpl.java)."""
        port, message = self.outbox.port, end.message
        if port is None or not end.trace_on:
            return
        record = TraceRecord(
            kind=TraceKind.END_TRANSACTION,
            message_id=end.message_id,
            time_ms=port.now_ms(),
            region=end.region_id,
            group=end.group,
            topic=message.topic,
            tags=message.tag or "",
            keys=" ".join(message.keys),
            store_host=end.broker_address,
            message_type=TraceMessageType.TRANSACTION_COMMIT,
            transaction_id=end.transaction_id,
            transaction_state=_STATES[end.outcome],
            from_check=end.from_check,
        )
        self.outbox.append(message.topic, [record])


def _record(
    context: SendContext, message: Message, result: SendResult, started: int, cost: int
) -> TraceRecord:
    return TraceRecord(
        kind=TraceKind.PUB,
        message_id=result.message_id,
        time_ms=started,
        region=result.region_id,
        group=context.group,
        topic=context.queue.topic,
        tags=message.tag or "",
        keys=" ".join(message.keys),
        store_host=context.broker_address,
        body_length=len(message.body),
        cost_ms=cost,
        message_type=_kind_of(message),
        offset_message_id=result.offset_message_id,
        success=result.status is SendStatus.SEND_OK,
    )


def _kind_of(message: Message) -> TraceMessageType:
    properties = message.properties
    if properties.get(p.TRANSACTION_PREPARED) == "true":
        return TraceMessageType.TRANSACTION_HALF
    if any(name in properties for name in _DELAYED):
        return TraceMessageType.DELAY
    return TraceMessageType.NORMAL
