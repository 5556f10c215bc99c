"""Spans and metrics of processing, current while the listener runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, TracerProvider

from mqframe.core.messages.message import ReceivedMessage
from mqframe.hooks.interfaces import ConsumeContext, ConsumeHook
from mqframe_opentelemetry import names
from mqframe_opentelemetry.attributes import (
    Attributes,
    error_type,
    operation_attributes,
    own_attributes,
    queue_attributes,
    received_attributes,
    server_attributes,
    shared_attributes,
)
from mqframe_opentelemetry.instruments import Instruments, tracer_of
from mqframe_opentelemetry.options import TelemetryOptions
from mqframe_opentelemetry.propagation import context_of, creation_context


class ConsumeTelemetry(ConsumeHook):
    """A span for each call of a listener, with a link to what sent each message.

    `tracer_provider`, `meter_provider`: by default the global ones, which may be set later. One object may
    serve any number of consumers.
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

    @contextmanager
    def around(self, context: ConsumeContext) -> Iterator[Span]:
        """The span of the call; current in the listener."""
        told: Attributes = {
            names.CONSUMER_GROUP: context.group,
            names.CLIENT_ID: context.client_id,
            names.MODEL: "broadcasting" if context.broadcasting else "clustering",
        }
        told |= queue_attributes(context.queue)
        with self._processing(context.messages, told) as (span, told):
            try:
                yield span
            finally:
                if not context.success and context.outcome and context.error is None:
                    # Nothing was raised: how it ended is all there is to say.
                    told[names.ERROR_TYPE] = context.outcome
                    span.set_attribute(names.ERROR_TYPE, context.outcome)
                    span.set_status(StatusCode.ERROR)

    @contextmanager
    def process(
        self, messages: ReceivedMessage | Sequence[ReceivedMessage], *, group: str = ""
    ) -> Iterator[Span]:
        """The span of a block that processes `messages`; for consumers that have no listener.

        with telemetry.process(message, group="billing"): ...

        It is current in the block. An exception of the block marks it and goes on.
        """
        each = [messages] if isinstance(messages, ReceivedMessage) else list(messages)
        if not each:
            raise ValueError("process needs at least one message")
        told: Attributes = {names.CONSUMER_GROUP: group} if group else {}
        queues = {message.queue for message in each}
        if len(queues) == 1:
            told |= queue_attributes(queues.pop())
        with self._processing(each, told) as (span, _):
            yield span

    @contextmanager
    def _processing(
        self, messages: Sequence[ReceivedMessage], more: Attributes
    ) -> Iterator[tuple[Span, Attributes]]:
        topic = messages[0].topic
        each = [
            received_attributes(message, self.options) | server_attributes(message.store_host)
            for message in messages
        ]
        shared = shared_attributes(each)
        told = operation_attributes(names.PROCESS, topic, self.options) | shared | more
        if len(messages) > 1:
            told[names.BATCH_COUNT] = len(messages)
        links = [
            Link(found, own_attributes(own, shared))
            for message, own in zip(messages, each, strict=True)
            if (found := creation_context(message)) is not None
        ]
        parent, surroundings = self._surroundings(messages)
        span = self._tracer.start_span(
            f"{names.PROCESS} {topic}", parent, SpanKind.CONSUMER, attributes=told, links=links
        )
        self._instruments.delivered(len(messages), told)
        token = contexts.attach(trace.set_span_in_context(span, surroundings))
        began = perf_counter()
        try:
            yield span, told
        except BaseException as error:  # re-raised: it is what the application raised
            told[names.ERROR_TYPE] = error_type(error)
            span.set_attribute(names.ERROR_TYPE, error_type(error))
            span.record_exception(error)
            span.set_status(Status(StatusCode.ERROR, str(error)))
            raise
        finally:
            contexts.detach(token)
            span.end()
            self._instruments.processed(perf_counter() - began, told)

    def _surroundings(self, messages: Sequence[ReceivedMessage]) -> tuple[Context, Context]:
        """What the span is begun in, and what the listener finds beside it: the baggage of one message."""
        here = contexts.get_current()
        if len(messages) > 1:
            return here, here
        brought = context_of(messages[0], here)
        ambient = trace.get_current_span(here).get_span_context().is_valid
        return (brought if self.options.children and not ambient else here), brought
