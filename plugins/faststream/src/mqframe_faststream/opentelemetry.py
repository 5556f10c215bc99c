"""OpenTelemetry spans and metrics of what is consumed and published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from faststream.message import StreamMessage
from faststream.opentelemetry import TelemetrySettingsProvider
from faststream.opentelemetry.consts import MESSAGING_DESTINATION_PUBLISH_NAME
from faststream.opentelemetry.middleware import TelemetryMiddleware
from opentelemetry.semconv.trace import SpanAttributes

from mqframe_faststream.response import MqframePublishCommand

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter, MeterProvider
    from opentelemetry.trace import TracerProvider

SYSTEM = "rocketmq"


class MqframeTelemetrySettings(TelemetrySettingsProvider[Any, MqframePublishCommand]):
    """What spans say of messages, single ones and batches, in the words of the semantic conventions."""

    def __init__(self) -> None:
        self.messaging_system = SYSTEM

    def get_consume_attrs_from_message(self, msg: StreamMessage[Any]) -> dict[str, Any]:
        """Of a message that is consumed."""
        raw = msg.raw_message
        first = raw[0] if isinstance(raw, tuple) else raw
        attributes: dict[str, Any] = {
            SpanAttributes.MESSAGING_SYSTEM: self.messaging_system,
            SpanAttributes.MESSAGING_MESSAGE_ID: msg.message_id,
            SpanAttributes.MESSAGING_MESSAGE_CONVERSATION_ID: msg.correlation_id,
            MESSAGING_DESTINATION_PUBLISH_NAME: first.topic,
        }
        if isinstance(raw, tuple):
            attributes[SpanAttributes.MESSAGING_BATCH_MESSAGE_COUNT] = len(raw)
            size = sum(map(len, msg.body))
        else:
            size = len(msg.body)
        attributes[SpanAttributes.MESSAGING_MESSAGE_PAYLOAD_SIZE_BYTES] = size
        if first.tag is not None:
            attributes[SpanAttributes.MESSAGING_ROCKETMQ_MESSAGE_TAG] = first.tag
        if first.keys:
            attributes[SpanAttributes.MESSAGING_ROCKETMQ_MESSAGE_KEYS] = first.keys
        return attributes

    def get_consume_destination_name(self, msg: StreamMessage[Any]) -> str:
        """The topic."""
        raw = msg.raw_message
        return str((raw[0] if isinstance(raw, tuple) else raw).topic)

    def get_publish_attrs_from_cmd(self, cmd: MqframePublishCommand) -> dict[str, Any]:
        """Of a message that is published."""
        attributes: dict[str, Any] = {
            SpanAttributes.MESSAGING_SYSTEM: self.messaging_system,
            SpanAttributes.MESSAGING_DESTINATION_NAME: cmd.destination,
            SpanAttributes.MESSAGING_MESSAGE_CONVERSATION_ID: cmd.correlation_id,
        }
        plan = cmd.plan
        if plan.tag is not None:
            attributes[SpanAttributes.MESSAGING_ROCKETMQ_MESSAGE_TAG] = plan.tag
        if plan.keys:
            attributes[SpanAttributes.MESSAGING_ROCKETMQ_MESSAGE_KEYS] = list(plan.keys)
        if plan.sharding_key is not None:
            attributes[SpanAttributes.MESSAGING_ROCKETMQ_MESSAGE_GROUP] = plan.sharding_key
        if plan.delay_level is not None:
            attributes[SpanAttributes.MESSAGING_ROCKETMQ_MESSAGE_DELAY_TIME_LEVEL] = plan.delay_level
        return attributes

    def get_publish_destination_name(self, cmd: MqframePublishCommand) -> str:
        """The topic."""
        return cmd.destination


class MqframeTelemetryMiddleware(TelemetryMiddleware[MqframePublishCommand]):
    """Spans and metrics of messages; traces go on from publishers to handlers.

    Arguments as of FastStream's middlewares.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        meter: Meter | None = None,
        include_messages_counters: bool = True,
    ) -> None:
        super().__init__(
            settings_provider_factory=lambda _: MqframeTelemetrySettings(),
            tracer_provider=tracer_provider,
            meter_provider=meter_provider,
            meter=meter,
            include_messages_counters=include_messages_counters,
        )
