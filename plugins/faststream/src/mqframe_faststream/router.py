"""Routers: subscribers and publishers that are included in a broker later, and routes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from faststream._internal.broker.router import ArgsContainer, BrokerRouter, SubscriberRoute
from faststream._internal.constants import EMPTY
from faststream.middlewares import AckPolicy

from mqframe import Sql
from mqframe_faststream.config import MqframeBrokerConfig
from mqframe_faststream.consuming.options import GroupOptions, Queues, Tags
from mqframe_faststream.registrator import MqframeRegistrator
from mqframe_faststream.response import SendOptions

if TYPE_CHECKING:
    from fast_depends.dependencies import Dependant
    from faststream._internal.configs import UnderlyingDriverAnnotations
    from faststream._internal.parser import CodecProto
    from faststream._internal.types import BrokerMiddleware, CustomCallable


class SubscriberOptions(GroupOptions, total=False):
    """The options of `MqframeBroker.subscriber`, which says what they mean."""

    pattern: str
    queues: Queues | None
    group: str
    tags: Tags | None
    sql: str | Sql | None
    batch: bool
    max_records: int | None
    max_workers: int
    ack_policy: AckPolicy
    no_reply: bool
    parser: CustomCallable | None
    decoder: CustomCallable | None
    codec: CodecProto | None
    persistent: bool
    title: str | None
    description: str | None
    include_in_schema: bool


class PublisherOptions(SendOptions, total=False):
    """The options of `MqframeBroker.publisher`, which says what they mean."""

    headers: Mapping[str, Any] | None
    reply_to: str
    batch: bool
    persistent: bool
    title: str | None
    description: str | None
    schema: Any
    include_in_schema: bool


class MqframePublisher(ArgsContainer):
    """A publisher of a `MqframeRoute`; arguments as of `MqframeBroker.publisher`."""

    def __init__(self, topic: str, **options: Unpack[PublisherOptions]) -> None:
        super().__init__(topic, **options)


class MqframeRoute(SubscriberRoute):
    """A handler that a router is made with; arguments as of `MqframeBroker.subscriber`."""

    def __init__(
        self,
        call: Callable[..., Any],
        topic: str = "",
        *,
        publishers: Iterable[MqframePublisher] = (),
        dependencies: Sequence[Dependant] = (),
        **options: Unpack[SubscriberOptions],
    ) -> None:
        super().__init__(call, topic, publishers=publishers, dependencies=dependencies, **options)


class MqframeRouter(MqframeRegistrator, BrokerRouter[Any, MqframeBrokerConfig]):
    """Subscribers and publishers that `broker.include_router` takes in. `prefix`: put before their topics."""

    def __init__(
        self,
        prefix: str = "",
        handlers: Iterable[MqframeRoute] = (),
        *,
        dependencies: Sequence[Dependant] = (),
        middlewares: Sequence[BrokerMiddleware[Any, Any]] = (),
        routers: Iterable[MqframeRegistrator] = (),
        parser: CustomCallable | None = None,
        decoder: CustomCallable | None = None,
        include_in_schema: bool | None = None,
        ack_policy: AckPolicy = EMPTY,
        underlying_driver_annotations: UnderlyingDriverAnnotations | None = None,
    ) -> None:
        super().__init__(
            handlers=handlers,
            config=MqframeBrokerConfig(
                prefix=prefix,
                ack_policy=ack_policy,
                broker_dependencies=dependencies,
                broker_middlewares=middlewares,
                broker_parser=parser,
                broker_decoder=decoder,
                include_in_schema=include_in_schema,
                underlying_driver_annotations=underlying_driver_annotations or {},
            ),
            routers=routers,
        )
