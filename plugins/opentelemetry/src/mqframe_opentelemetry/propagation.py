"""The trace context of messages, in their properties, by the global propagator."""

from __future__ import annotations

from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext

from mqframe.core.messages.message import Message, ReceivedMessage


def context_of(message: Message | ReceivedMessage, context: Context | None = None) -> Context:
    """`context`, by default an empty one, with the trace and the baggage that `message` brings."""
    return propagate.extract(message.properties, Context() if context is None else context)


def creation_context(message: Message | ReceivedMessage) -> SpanContext | None:
    """The span that `message` was made in; `None` where it brings none."""
    found = trace.get_current_span(context_of(message)).get_span_context()
    return found if found.is_valid else None


def properties_of(context: Context) -> dict[str, str]:
    """The properties that carry `context` on."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier, context)
    return {name: value for name, value in carrier.items() if value}
