"""The tracer and the metrics of both hooks."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from opentelemetry import metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Tracer, TracerProvider

from mqframe_opentelemetry import names
from mqframe_opentelemetry.attributes import Attributes

SCOPE: Final = "mqframe_opentelemetry"
VERSION: Final = version("mqframe-plugin-opentelemetry")
_OF_METRICS: Final = frozenset(
    (
        names.SYSTEM,
        names.OPERATION_NAME,
        names.OPERATION_TYPE,
        names.DESTINATION,
        names.PARTITION,
        names.CONSUMER_GROUP,
        names.ERROR_TYPE,
        names.SERVER_ADDRESS,
        names.SERVER_PORT,
    )
)


def tracer_of(provider: TracerProvider | None) -> Tracer:
    """The tracer of `provider`, by default the global one, which may be set later."""
    return trace.get_tracer(SCOPE, VERSION, provider)


class Instruments:
    """What is counted and timed. `provider`: the global one by default; `on`: whether to record at all."""

    def __init__(self, provider: MeterProvider | None, *, on: bool) -> None:
        self._on = on
        meter = metrics.get_meter(SCOPE, VERSION, provider)
        self._operation = meter.create_histogram(
            names.OPERATION_DURATION,
            "s",
            "Duration of messaging operation initiated by a producer or consumer client.",
            explicit_bucket_boundaries_advisory=names.DURATION_BUCKETS,
        )
        self._sent = meter.create_counter(
            names.SENT_MESSAGES, "{message}", "Number of messages producer attempted to send to the broker."
        )
        self._consumed = meter.create_counter(
            names.CONSUMED_MESSAGES, "{message}", "Number of messages that were delivered to the application."
        )
        self._process = meter.create_histogram(
            names.PROCESS_DURATION,
            "s",
            "Duration of processing operation.",
            explicit_bucket_boundaries_advisory=names.DURATION_BUCKETS,
        )

    def sent(self, count: int, seconds: float, told: Attributes) -> None:
        """A send of `count` messages took so long; 0 where none of them left."""
        if self._on:
            kept = _kept(told)
            self._operation.record(seconds, kept)
            if count:
                self._sent.add(count, kept)

    def delivered(self, count: int, told: Attributes) -> None:
        """So many messages were handed to the application."""
        if self._on:
            self._consumed.add(count, _kept(told))

    def processed(self, seconds: float, told: Attributes) -> None:
        """Processing them took so long."""
        if self._on:
            self._process.record(seconds, _kept(told))


def _kept(told: Attributes) -> Attributes:
    """Those of `told` that metrics have: few values each."""
    return {name: value for name, value in told.items() if name in _OF_METRICS}
