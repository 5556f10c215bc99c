"""The send hook and the consume hook `opentelemetry`: spans, metrics and the trace context of messages."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_opentelemetry.consuming import ConsumeTelemetry
from mqframe_opentelemetry.options import TelemetryOptions
from mqframe_opentelemetry.sending import SendTelemetry

__all__ = [
    "ConsumeTelemetry",
    "SendTelemetry",
    "TelemetryOptions",
    "register_consume_hooks",
    "register_send_hooks",
]


@hookimpl
def register_send_hooks() -> Factories:
    """The hook of producers."""
    return {"opentelemetry": SendTelemetry}


@hookimpl
def register_consume_hooks() -> Factories:
    """The hook of consumers."""
    return {"opentelemetry": ConsumeTelemetry}
