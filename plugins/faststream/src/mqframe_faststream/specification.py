"""What subscribers and publishers say of themselves in AsyncAPI documents.

RocketMQ has no binding of its own in AsyncAPI, so channels and operations carry the extension `x-rocketmq`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from faststream._internal.endpoint.publisher import PublisherSpecification
from faststream._internal.endpoint.subscriber import SubscriberSpecification
from faststream.specification.asyncapi.utils import resolve_payloads
from faststream.specification.asyncapi.v2_6_0.schema import bindings as bindings_v2
from faststream.specification.asyncapi.v3_0_0.schema import bindings as bindings_v3
from faststream.specification.schema import Message, Operation, PublisherSpec, SubscriberSpec
from faststream.specification.schema.bindings import ChannelBinding, OperationBinding

from mqframe import Sql
from mqframe_faststream.config import (
    MqframeBrokerConfig,
    MqframePublisherSpecificationConfig,
    MqframeSubscriberSpecificationConfig,
    group_of,
    topic_of,
)
from mqframe_faststream.consuming.options import SubscriberPlan
from mqframe_faststream.response import SendPlan

EXTENSION = "x-rocketmq"
"""The name of the binding in documents."""


@dataclass
class RocketmqChannelBinding(ChannelBinding):
    """A topic."""

    rocketmq: dict[str, Any] = field(default_factory=dict)


@dataclass
class RocketmqOperationBinding(OperationBinding):
    """How a topic is consumed or produced to."""

    rocketmq: dict[str, Any] = field(default_factory=dict)


class MqframeSubscriberSpecification(
    SubscriberSpecification[MqframeBrokerConfig, MqframeSubscriberSpecificationConfig]
):
    """A subscriber's channel and operation."""

    @property
    def topic(self) -> str:
        """The topic or the text of the pattern, with the prefixes of its routers."""
        return topic_of(self.config.subscription.name, self._outer_config)

    @property
    def channel_labels(self) -> list[str]:
        """The topic or the pattern."""
        return [self.topic]

    def get_schema(self) -> dict[str, SubscriberSpec]:
        """The channel, by its name."""
        wanted = self.config.subscription.beginning(self._outer_config.consume_from)
        message = Message(title=f"{self.name}:Message", payload=resolve_payloads(self.get_payloads()))
        return {
            self.name: SubscriberSpec(
                address=self.topic,
                description=self.description,
                operation=Operation(
                    message=message,
                    bindings=RocketmqOperationBinding(
                        rocketmq=consumed(wanted, group_of(wanted, self._outer_config))
                    ),
                ),
                bindings=RocketmqChannelBinding(
                    rocketmq={"topicPattern" if wanted.pattern else "topic": self.topic}
                ),
            )
        }


class MqframePublisherSpecification(
    PublisherSpecification[MqframeBrokerConfig, MqframePublisherSpecificationConfig]
):
    """A publisher's channel and operation."""

    @property
    def topic(self) -> str:
        """The topic, with the prefixes of its routers."""
        return topic_of(self.config.topic, self._outer_config)

    @property
    def name(self) -> str:
        """The name of the channel."""
        return self.config.title_ or f"{self.topic}:Publisher"

    def get_schema(self) -> dict[str, PublisherSpec]:
        """The channel, by its name."""
        payload = resolve_payloads(self.get_payloads(), "Publisher")
        return {
            self.name: PublisherSpec(
                address=self.topic,
                description=self.config.description_,
                operation=Operation(
                    message=Message(title=f"{self.name}:Message", payload=payload),
                    bindings=RocketmqOperationBinding(rocketmq=produced(self.config.plan)),
                ),
                bindings=RocketmqChannelBinding(rocketmq={"topic": self.topic}),
            )
        }


def consumed(wanted: SubscriberPlan, group: str) -> dict[str, Any]:
    """The binding of an operation that consumes."""
    binding: dict[str, Any] = {"consumerGroup": group}
    if isinstance(wanted.expression, Sql):
        binding["sql"] = wanted.expression.text
    elif wanted.expression != "*":
        binding["tags"] = [tag.strip() for tag in wanted.expression.split("||")]
    binding["messageModel"] = "BROADCASTING" if wanted.broadcasting else "CLUSTERING"
    binding["ordered"] = wanted.ordered
    begin = wanted.consume_from
    if begin != "last":
        binding["consumeFrom"] = begin.isoformat() if isinstance(begin, datetime) else begin
    if wanted.batch:
        binding["maxRecords"] = wanted.max_records
    if wanted.queues is not None:
        binding["queues"] = [f"{queue.broker_name}/{queue.queue_id}" for queue in wanted.queues]
    return binding


def produced(plan: SendPlan) -> dict[str, Any]:
    """The binding of an operation that produces."""
    given = {"tag": plan.tag, "shardingKey": plan.sharding_key, "delayLevel": plan.delay_level}
    return {name: value for name, value in given.items() if value is not None}


def _knowing_rocketmq(make: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def wrapped(cls: Any, binding: Any) -> Any:
        own = getattr(binding, "rocketmq", None)
        return make(cls, binding) if not own else cls(**{EXTENSION: own})

    return wrapped


def teach(cls: Any) -> None:
    """Have a class of binding models of FastStream take ours, too, which it has no other place for."""
    for name in ("from_sub", "from_pub"):
        known = getattr(cls, name).__func__
        if known.__module__ != __name__:
            setattr(cls, name, classmethod(_knowing_rocketmq(known)))


for _models in (bindings_v2, bindings_v3):
    teach(_models.ChannelBinding)
    teach(_models.OperationBinding)
