"""Contexts in the properties of messages."""

from __future__ import annotations

from mqframe_opentelemetry.propagation import context_of, creation_context, properties_of
from opentelemetry import baggage, trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

from mqframe.core.messages.message import Message

SPAN = SpanContext(
    0xA1, 0xB2, is_remote=False, trace_flags=TraceFlags(1), trace_state=TraceState([("v", "1")])
)


def test_what_goes_in_comes_out() -> None:
    context = trace.set_span_in_context(NonRecordingSpan(SPAN), Context())
    properties = properties_of(baggage.set_baggage("tenant", "acme & co", context))
    assert properties == {
        "traceparent": f"00-{0xA1:032x}-{0xB2:016x}-01",
        "tracestate": "v=1",
        "baggage": "tenant=acme+%26+co",
    }
    message = Message("orders", b"x", properties=properties)
    found = creation_context(message)
    assert found is not None
    assert (found.trace_id, found.span_id, found.is_remote) == (0xA1, 0xB2, True)
    assert found.trace_state == SPAN.trace_state
    assert baggage.get_baggage("tenant", context_of(message)) == "acme & co"


def test_nothing_empty_goes_in() -> None:
    assert properties_of(Context()) == {}
    plain = trace.set_span_in_context(NonRecordingSpan(SpanContext(0xA1, 0xB2, is_remote=False)), Context())
    assert list(properties_of(plain)) == ["traceparent"]


def test_messages_without_a_context_or_with_a_broken_one() -> None:
    assert creation_context(Message("orders", b"x")) is None
    assert creation_context(Message("orders", b"x", properties={"traceparent": "nonsense"})) is None


def test_what_is_there_already_stays() -> None:
    here = baggage.set_baggage("region", "eu", Context())
    assert baggage.get_baggage("region", context_of(Message("orders", b"x"), here)) == "eu"
