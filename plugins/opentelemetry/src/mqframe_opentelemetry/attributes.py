"""What is told of messages: attributes of spans, links and metrics."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from mqframe.core.messages import properties as p
from mqframe.core.messages.message import Message, MessageQueue, ReceivedMessage
from mqframe_opentelemetry import names
from mqframe_opentelemetry.options import TelemetryOptions

Value = str | int | bool | float | Sequence[str]
Attributes = dict[str, Value]
_TIMED: Final = (p.TIMER_DELIVER_MS, p.TIMER_DELAY_MS, p.TIMER_DELAY_SEC)


def operation_attributes(name: str, topic: str, options: TelemetryOptions) -> Attributes:
    """What every span of `topic` begins with; `name`: the operation, which is also its type."""
    told: Attributes = {
        names.SYSTEM: names.ROCKETMQ,
        names.OPERATION_NAME: name,
        names.OPERATION_TYPE: name,
        names.DESTINATION: topic,
    }
    before, found, _ = topic.partition("%")
    namespace = before if found and before else options.namespace
    if namespace:
        told[names.NAMESPACE] = namespace
    return told


def sent_attributes(message: Message, sharding_key: object, options: TelemetryOptions) -> Attributes:
    """What is told of one message that is sent."""
    told = _delivery_attributes(message.properties, int(time.time() * 1000), sharding_key)
    if options.tag and message.tag:
        told[names.TAG] = message.tag
    if options.keys and message.keys:
        told[names.KEYS] = tuple(message.keys)
    if options.body_size:
        told[names.BODY_SIZE] = len(message.body)
    return told


def received_attributes(message: ReceivedMessage, options: TelemetryOptions) -> Attributes:
    """What is told of one message that is processed."""
    told = _delivery_attributes(message.properties, message.born_timestamp, None)
    told[names.MESSAGE_ID] = message.message_id
    told[names.ATTEMPT] = message.reconsume_times + 1
    if options.tag and message.tag:
        told[names.TAG] = message.tag
    if options.keys and message.keys:
        told[names.KEYS] = tuple(message.keys)
    if options.body_size:
        told[names.BODY_SIZE] = len(message.stored_body)
    return told


def _delivery_attributes(properties: Mapping[str, str], born_ms: int, sharding_key: object) -> Attributes:
    """How the message is delivered, by its `properties`; `born_ms`: when it was sent."""
    told: Attributes = {}
    group = properties.get(p.SHARDING_KEY) or (None if sharding_key is None else str(sharding_key))
    kind = "normal"
    if properties.get(p.TRANSACTION_PREPARED) == "true":
        kind = "transaction"
    elif p.DELAY in properties or any(name in properties for name in _TIMED):
        kind = "delay"
        told |= _due_attributes(properties, born_ms)
    elif group:
        kind = "fifo"
    if group:
        told[names.MESSAGE_GROUP] = group
    if p.CORRELATION_ID in properties:
        told[names.CONVERSATION_ID] = properties[p.CORRELATION_ID]
    told[names.MESSAGE_TYPE] = kind
    return told


def _due_attributes(properties: Mapping[str, str], born_ms: int) -> Attributes:
    try:
        if p.TIMER_DELIVER_MS in properties:
            return {names.DELIVERY_TIMESTAMP: int(properties[p.TIMER_DELIVER_MS])}
        if p.TIMER_DELAY_MS in properties:
            return {names.DELIVERY_TIMESTAMP: born_ms + int(properties[p.TIMER_DELAY_MS])}
        if p.TIMER_DELAY_SEC in properties:
            return {names.DELIVERY_TIMESTAMP: born_ms + int(properties[p.TIMER_DELAY_SEC]) * 1000}
        return {names.DELAY_LEVEL: int(properties[p.DELAY])}
    except ValueError:  # a foreign sender's: brokers have their own way with what is no number
        return {}


def shared_attributes(each: Sequence[Attributes]) -> Attributes:
    """What all of `each`, of the messages of a batch, agree on: it belongs to their span."""
    first, *others = each
    return {name: value for name, value in first.items() if all(o.get(name) == value for o in others)}


def own_attributes(each: Attributes, shared: Attributes) -> Attributes:
    """The rest of one of them, which belongs to its link."""
    return {name: value for name, value in each.items() if name not in shared}


def queue_attributes(queue: MessageQueue) -> Attributes:
    """Where in the topic; a queue has a number on its broker only."""
    return {names.PARTITION: f"{queue.broker_name}:{queue.queue_id}"}


def server_attributes(address: str) -> Attributes:
    """The broker at `address`, "host:port"."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return {}
    return {names.SERVER_ADDRESS: host.strip("[]"), names.SERVER_PORT: int(port)}


def error_type(error: BaseException) -> str:
    """The full name of its class."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
