"""Spans and metrics of sends, and the trace context that messages take along."""

from __future__ import annotations

from time import perf_counter
from typing import Final

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, TracerProvider

from mqframe.core.messages.message import Message
from mqframe.hooks.interfaces import SendContext, SendHook, SendOperation
from mqframe_opentelemetry import names
from mqframe_opentelemetry.attributes import (
    Attributes,
    error_type,
    operation_attributes,
    own_attributes,
    queue_attributes,
    sent_attributes,
    server_attributes,
    shared_attributes,
)
from mqframe_opentelemetry.instruments import Instruments, tracer_of
from mqframe_opentelemetry.options import TelemetryOptions
from mqframe_opentelemetry.propagation import creation_context, properties_of

_SPAN: Final = "opentelemetry.span"
_TRY: Final = "opentelemetry.try"


class _SendSpan:
    """The span of a send under way. `told`: its attributes so far; `failed`: what its last try met."""

    __slots__ = ("began", "count", "failed", "span", "told", "tries")

    def __init__(self, span: Span, count: int, told: Attributes) -> None:
        self.span = span
        self.count = count
        self.told = told
        self.tries = 0
        self.failed: BaseException | None = None
        self.began = perf_counter()

    def tell(self, told: Attributes) -> None:
        """Add attributes."""
        self.told |= told
        self.span.set_attributes(told)


class SendTelemetry(SendHook):
    """A span for each send, with all of its tries; its context goes with the messages.

    `tracer_provider`, `meter_provider`: by default the global ones, which may be set later. One object may
    serve any number of producers.
    """

    name = "opentelemetry"
    Options = TelemetryOptions

    def __init__(
        self,
        options: TelemetryOptions | None = None,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        self.options = options or TelemetryOptions()
        self._tracer = tracer_of(tracer_provider)
        self._instruments = Instruments(meter_provider, on=self.options.metrics)

    def prepare(self, operation: SendOperation) -> None:
        """Begin the span, and put its context, or that of each message's own span, into the messages.

        A message that brings a context already keeps it.
        """
        messages, here = operation.messages, contexts.get_current()
        brought = [creation_context(message) for message in messages]
        told = [sent_attributes(message, operation.sharding_key, self.options) for message in messages]
        shared = shared_attributes(told)
        made: list[Span | None] = [None] * len(messages)
        if operation.batch and self.options.create_spans:
            made = [
                self._created(message, each, here) if found is None else None
                for message, each, found in zip(messages, told, brought, strict=True)
            ]
        links = []
        for span, found, each in zip(made, brought, told, strict=True):
            linked = found if span is None else span.get_span_context()
            if linked is not None:
                links.append(Link(linked, own_attributes(each, shared)))
        sending = self._begin(operation, shared, links)
        operation.extras[_SPAN] = sending
        itself = trace.set_span_in_context(sending.span, here)
        for index, span in enumerate(made):
            if brought[index] is None:
                context = itself if span is None else trace.set_span_in_context(span, here)
                for name, value in properties_of(context).items():
                    operation.set_property(name, value, index)

    def before(self, context: SendContext) -> None:
        """Tell where this try goes; messages that are encoded already have a span for each try."""
        sending = context.extras.get(_SPAN)
        if not isinstance(sending, _SendSpan):
            sending = self._begin_encoded(context)
            context.extras[_TRY] = sending
        if sending.failed is not None:
            sending.span.add_event(
                "retry",
                {names.ERROR_TYPE: error_type(sending.failed), names.ATTEMPT: sending.tries + 1},
            )
            sending.failed = None
        sending.tries += 1
        told = queue_attributes(context.queue) | server_attributes(context.broker_address)
        if len(context.message_ids) == 1 and context.message_ids[0]:
            told[names.MESSAGE_ID] = context.message_ids[0]
        sending.tell(told)

    def after(self, context: SendContext) -> None:
        """Note what this try met."""
        sending = context.extras.get(_SPAN)
        if isinstance(sending, _SendSpan):
            sending.failed = context.error
            return
        sending = context.extras.pop(_TRY, None)
        if isinstance(sending, _SendSpan):
            self._end(sending, context.error)

    def finish(self, operation: SendOperation) -> None:
        """End the span."""
        sending = operation.extras.pop(_SPAN, None)
        if isinstance(sending, _SendSpan):
            self._end(sending, operation.error)

    def _created(self, message: Message, told: Attributes, here: Context) -> Span:
        told = operation_attributes(names.CREATE, message.topic, self.options) | told
        name = f"{names.CREATE} {message.topic}"
        span = self._tracer.start_span(name, here, SpanKind.PRODUCER, told)
        span.end()
        return span

    def _begin(self, operation: SendOperation, shared: Attributes, links: list[Link]) -> _SendSpan:
        topic = operation.messages[0].topic
        told = operation_attributes(names.SEND, topic, self.options) | shared
        if operation.client_id:
            told[names.CLIENT_ID] = operation.client_id
        if operation.batch:
            told[names.BATCH_COUNT] = len(operation.messages)
        # Whose context is not what messages take along is a client like any other.
        kind = SpanKind.CLIENT if len(links) == len(operation.messages) else SpanKind.PRODUCER
        span = self._tracer.start_span(f"{names.SEND} {topic}", kind=kind, attributes=told, links=links)
        return _SendSpan(span, len(operation.messages), told)

    def _begin_encoded(self, context: SendContext) -> _SendSpan:
        topic, count = context.queue.topic, len(context.messages)
        told = operation_attributes(names.SEND, topic, self.options)
        told[names.BATCH_COUNT] = count
        links = [Link(found) for each in context.messages if (found := creation_context(each)) is not None]
        span = self._tracer.start_span(
            f"{names.SEND} {topic}", kind=SpanKind.CLIENT, attributes=told, links=links
        )
        return _SendSpan(span, count, told)

    def _end(self, sending: _SendSpan, error: BaseException | None) -> None:
        if error is not None:
            sending.tell({names.ERROR_TYPE: error_type(error)})
            sending.span.record_exception(error)
            sending.span.set_status(Status(StatusCode.ERROR, str(error)))
        sending.span.end()
        left = sending.count if sending.tries else 0
        self._instruments.sent(left, perf_counter() - sending.began, sending.told)
