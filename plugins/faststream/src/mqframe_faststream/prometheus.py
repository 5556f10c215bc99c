"""Prometheus metrics of what is consumed and published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from faststream._internal.constants import EMPTY
from faststream.message import StreamMessage
from faststream.prometheus import ConsumeAttrs, MetricsSettingsProvider
from faststream.prometheus.middleware import PrometheusMiddleware

from mqframe_faststream.response import MqframePublishCommand

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

SYSTEM = "rocketmq"


class MqframeMetricsSettings(MetricsSettingsProvider[Any, MqframePublishCommand]):
    """What metrics say of messages, single ones and batches."""

    def __init__(self) -> None:
        self.messaging_system = SYSTEM

    def get_consume_attrs_from_message(self, msg: StreamMessage[Any]) -> ConsumeAttrs:
        """Topic, size and count."""
        raw = msg.raw_message
        if isinstance(raw, tuple):
            size, count, topic = sum(map(len, msg.body)), len(raw), raw[0].topic
        else:
            size, count, topic = len(msg.body), 1, raw.topic
        return {"destination_name": topic, "message_size": size, "messages_count": count}

    def get_publish_destination_name_from_cmd(self, cmd: MqframePublishCommand) -> str:
        """The topic."""
        return cmd.destination


class MqframePrometheusMiddleware(PrometheusMiddleware[Any, MqframePublishCommand]):
    """Counts and times messages, for Prometheus.

    `registry`: where metrics are kept; `app_name`: the label of this application; `metrics_prefix`: begins
    their names; others as of FastStream's middlewares.
    """

    def __init__(
        self,
        *,
        registry: CollectorRegistry,
        app_name: str = EMPTY,
        metrics_prefix: str = "faststream",
        received_messages_size_buckets: Sequence[float] | None = None,
        custom_labels: dict[str, str | Callable[[Any], str]] | None = None,
    ) -> None:
        super().__init__(
            settings_provider_factory=lambda _: MqframeMetricsSettings(),
            registry=registry,
            app_name=app_name,
            metrics_prefix=metrics_prefix,
            received_messages_size_buckets=received_messages_size_buckets,
            custom_labels=custom_labels,
        )
