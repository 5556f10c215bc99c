"""What tests of the hooks share: providers that keep what they are told, and a look at it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mqframe_opentelemetry import ConsumeTelemetry, SendTelemetry, TelemetryOptions
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mqframe import ConsumeResult, Producer, PushConsumer

WAIT = 60.0
"""Seconds after which a test that would hang fails instead."""


class Told:
    """Both hooks over an SDK in memory, and what they told it."""

    def __init__(self, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.tracer = self.tracers.get_tracer("test")
        chosen = TelemetryOptions(**options)
        self.send = SendTelemetry(chosen, tracer_provider=self.tracers, meter_provider=self.meters)
        self.consume = ConsumeTelemetry(chosen, tracer_provider=self.tracers, meter_provider=self.meters)

    def spans(self, name: str) -> list[ReadableSpan]:
        """Those that ended, in the order of their beginnings."""
        found = [span for span in self.exporter.get_finished_spans() if span.name == name]
        return sorted(found, key=lambda span: span.start_time)

    def span(self, name: str) -> ReadableSpan:
        """The only one of this name."""
        [found] = self.spans(name)
        return found

    def points(self, name: str) -> list[Any]:
        """The data points of a metric."""
        data = self.reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


def linked(span: ReadableSpan) -> list[tuple[int, int]]:
    """Trace and span of each link."""
    return [(link.context.trace_id, link.context.span_id) for link in span.links]


def place(span: ReadableSpan) -> tuple[int, int]:
    """Trace and span of its own."""
    return span.context.trace_id, span.context.span_id


class Listener:
    """Takes messages, does what `work` says, and can be waited for."""

    def __init__(self, *answers: Any, inside: Any = None) -> None:
        self.answers = list(answers)
        self.inside = inside
        self.calls: list[list[Any]] = []
        self._changed = threading.Condition()

    def __call__(self, messages: Any, context: Any) -> Any:
        answer = self.answers.pop(0) if self.answers else ConsumeResult.SUCCESS
        try:
            if self.inside is not None:
                self.inside(messages)
            if isinstance(answer, BaseException):
                raise answer
            return answer
        finally:
            with self._changed:
                self.calls.append(list(messages))
                self._changed.notify_all()

    def wait(self, messages: int) -> None:
        """Until so many messages came in."""
        with self._changed:
            assert self._changed.wait_for(lambda: sum(map(len, self.calls)) >= messages, WAIT)


@contextmanager
def consuming(
    cluster: Any, told: Told, listener: Any, *, group: str = "billing", batch_max: int = 1, **options: Any
) -> Iterator[PushConsumer]:
    """A push consumer of `orders`; what its listener began has ended when the block ends."""
    consumer = PushConsumer(
        group,
        nameserver=cluster.nameserver,
        consume_from="first",
        consume_hooks=[told.consume],
        **options,
    )
    consumer.subscribe("orders", "*", listener, batch_max=batch_max)
    with consumer:
        yield consumer


def producing(cluster: Any, told: Told, kind: Any = Producer, *arguments: Any, **options: Any) -> Any:
    """A producer that is watched."""
    return kind("shop", *arguments, nameserver=cluster.nameserver, send_hooks=[told.send], **options)
