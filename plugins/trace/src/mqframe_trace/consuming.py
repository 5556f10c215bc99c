"""Traces of what listeners did (ConsumeMessageTraceHookImpl.java)."""

from __future__ import annotations

import uuid
from typing import Final

import msgspec

from mqframe.core.messages import properties as p
from mqframe.hooks.interfaces import ConsumeContext, ConsumeHook, HookPort
from mqframe_trace.outbox import PRODUCER_GROUP, Outbox, TraceOptions
from mqframe_trace.records import ConsumeCode, TraceKind, TraceRecord

_BEGUN: Final = "trace.begun"
_CODES: Final = {
    "success": ConsumeCode.SUCCESS,
    "timeout": ConsumeCode.TIMEOUT,
    "exception": ConsumeCode.EXCEPTION,
    "null": ConsumeCode.NULL,
    "failed": ConsumeCode.FAILED,
}


class ConsumeTrace(ConsumeHook):
    """Tells of every call of a listener, before and after, unless the broker wants no traces."""

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

    def before(self, context: ConsumeContext) -> None:
        """Tell that a listener is called."""
        port = self.outbox.port
        if port is None:
            return
        request_id, now = uuid.uuid4().hex.upper(), port.now_ms()
        begun = [
            TraceRecord(
                kind=TraceKind.SUB_BEFORE,
                message_id=message.message_id,
                time_ms=now,
                # Brokers before 5.0.0 do not mark messages with their region.
                region=message.properties.get(p.MSG_REGION, ""),
                group=context.group,
                topic=message.topic,
                request_id=request_id,
                retry_times=message.reconsume_times,
                keys=" ".join(message.keys),
            )
            for message in context.messages
            if message.properties.get(p.TRACE_ON) != "false"
        ]
        if begun:
            context.extras[_BEGUN] = begun
            self.outbox.append(context.queue.topic, begun)

    def after(self, context: ConsumeContext) -> None:
        """Tell what came of it; the time is shared out among the messages of a batch, as there."""
        port, begun = self.outbox.port, context.extras.get(_BEGUN)
        if port is None or not isinstance(begun, list):
            return
        now = port.now_ms()
        cost = int(context.elapsed_seconds * 1000 / max(1, len(context.messages)))
        self.outbox.append(
            context.queue.topic,
            [
                msgspec.structs.replace(
                    record,
                    kind=TraceKind.SUB_AFTER,
                    time_ms=now,
                    cost_ms=cost,
                    success=context.success,
                    consume_code=_CODES.get(context.outcome, ConsumeCode.FAILED),
                )
                for record in begun
            ],
        )
