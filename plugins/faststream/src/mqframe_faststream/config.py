"""What brokers, routers, subscribers and publishers are configured with."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from faststream._internal.configs import (
    BrokerConfig,
    PublisherSpecificationConfig,
    PublisherUsecaseConfig,
    SubscriberSpecificationConfig,
    SubscriberUsecaseConfig,
    UnderlyingDriverAnnotation,
    UnderlyingDriverAnnotations,
)
from faststream._internal.constants import EMPTY
from faststream.exceptions import IncorrectState
from faststream.middlewares import AckPolicy
from mqframe_steering.rules.patterns import topic_pattern

from mqframe_faststream.connection import Connection
from mqframe_faststream.consuming.groups import Groups
from mqframe_faststream.consuming.options import GROUP_PREFIX, ConsumeFrom, SubscriberPlan
from mqframe_faststream.producer import MqframeProducer
from mqframe_faststream.response import NO_PLAN, SendPlan


def _driver_annotations() -> UnderlyingDriverAnnotations:
    from mqframe_faststream import annotations
    from mqframe_faststream.broker import MqframeBroker
    from mqframe_faststream.message import MqframeMessage

    module = "mqframe_faststream.annotations"
    kinds: dict[Any, tuple[Any, str]] = {
        MqframeBroker: (annotations.MqframeBroker, "MqframeBroker"),
        MqframeMessage: (annotations.MqframeMessage, "MqframeMessage"),
        Connection: (annotations.Connection, "Connection"),
    }
    return MappingProxyType(
        {
            kind: UnderlyingDriverAnnotation(type_hint=hint, module=module, name=name)
            for kind, (hint, name) in kinds.items()
        }
    )


@dataclass(kw_only=True)
class MqframeBrokerConfig(BrokerConfig):
    """Of a broker, or of a router, which has no connection.

    `group`: of subscribers that name none; `consume_from`: where groups begin whose subscribers do not say.
    """

    group: str = ""
    consume_from: ConsumeFrom = "last"
    groups: Groups | None = None
    default_driver_annotations: UnderlyingDriverAnnotations = field(default_factory=_driver_annotations)

    def connect(self, connection: Connection) -> None:
        """Publish and subscribe by `connection` from now on."""
        producer = self.producer
        if isinstance(producer, MqframeProducer):
            producer.connect(connection.producer, self.fd_config._serializer, self.broker_codec)
        self.groups = Groups(connection, self.graceful_timeout)

    def disconnect(self) -> None:
        """Publish and subscribe nothing more."""
        producer = self.producer
        if isinstance(producer, MqframeProducer):
            producer.disconnect()
        self.groups = None


def groups_of(config: BrokerConfig) -> Groups:
    """The consumer groups of the broker of `config`. Raises `IncorrectState` unless it is connected."""
    groups: Groups | None = getattr(config, "groups", None)
    if groups is None:
        raise IncorrectState("the broker is not connected; call connect() or start() first")
    return groups


@dataclass(kw_only=True)
class MqframeSubscriberConfig(SubscriberUsecaseConfig):
    """Of a subscriber."""

    _outer_config: BrokerConfig = field(default_factory=MqframeBrokerConfig)
    subscription: SubscriberPlan

    @property
    def ack_policy(self) -> AckPolicy:
        """What the subscriber says, else its router or broker, else NACK_ON_ERROR."""
        policy = self._ack_policy
        if policy is EMPTY:
            policy = self._outer_config.ack_policy
        return AckPolicy.NACK_ON_ERROR if policy is EMPTY else policy


@dataclass(kw_only=True)
class MqframeSubscriberSpecificationConfig(SubscriberSpecificationConfig):
    """Of a subscriber, for AsyncAPI."""

    subscription: SubscriberPlan


@dataclass(kw_only=True)
class MqframePublisherConfig(PublisherUsecaseConfig):
    """Of a publisher."""

    _outer_config: BrokerConfig = field(default_factory=MqframeBrokerConfig)
    topic: str
    plan: SendPlan = NO_PLAN
    headers: dict[str, Any] = field(default_factory=dict)
    reply_to: str = ""
    batch: bool = False


@dataclass(kw_only=True)
class MqframePublisherSpecificationConfig(PublisherSpecificationConfig):
    """Of a publisher, for AsyncAPI."""

    topic: str
    plan: SendPlan = NO_PLAN


def topic_of(topic: str, config: BrokerConfig) -> str:
    """`topic` with the prefixes of its routers."""
    return f"{config.prefix}{topic}"


def group_of(subscription: SubscriberPlan, config: BrokerConfig) -> str:
    """The consumer group: the subscriber's, else the broker's, else one of the topic's or pattern's own."""
    own = subscription.group or getattr(config, "group", "")
    if own:
        return str(own)
    name = topic_of(subscription.name, config)
    return f"{GROUP_PREFIX}{topic_pattern(name).as_name if subscription.pattern else name}"
