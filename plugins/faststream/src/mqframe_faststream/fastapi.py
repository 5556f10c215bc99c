"""Subscribers and publishers as routes of a FastAPI application."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, Unpack, cast

from fastapi.datastructures import Default
from faststream._internal.fastapi.context import Context, ContextRepo, Logger
from faststream._internal.fastapi.router import StreamRouter

from mqframe_faststream.broker import MqframeBroker as _Broker
from mqframe_faststream.connection import Connection as _Connection
from mqframe_faststream.message import MqframeMessage as _Message
from mqframe_faststream.publisher import MqframePublisher
from mqframe_faststream.router import PublisherOptions, SubscriberOptions
from mqframe_faststream.subscriber import MqframeSubscriber

if TYPE_CHECKING:
    from fastapi import params
    from fastapi.types import IncEx

__all__ = [
    "Connection",
    "Context",
    "ContextRepo",
    "Logger",
    "MqframeBroker",
    "MqframeMessage",
    "MqframeRouter",
]

NO_MODEL = Default(None)
"""FastAPI takes the handler's annotation."""
MqframeMessage = Annotated[_Message, Context("message")]
MqframeBroker = Annotated[_Broker, Context("broker")]
Connection = Annotated[_Connection, Context("broker._connection")]


class MqframeRouter(StreamRouter[Any]):
    """A FastAPI router whose handlers are called with messages, with FastAPI's `Depends` and models.

        router = MqframeRouter("127.0.0.1:9876", group="billing")
        app = FastAPI()
        app.include_router(router)

    It connects and stops with the application, and serves its AsyncAPI document at `schema_url`
    (`/asyncapi`). Takes the arguments of `MqframeBroker` and those of `fastapi.APIRouter`;
    `specification_tags` are the tags in AsyncAPI documents.
    """

    broker_class = _Broker
    broker: _Broker

    def __init__(
        self, nameserver: str | Iterable[str] = "", *, context: ContextRepo | None = None, **options: Any
    ) -> None:
        super().__init__(nameserver, context=context, **options)

    def subscriber(  # type: ignore[override]
        self,
        topic: str = "",
        *,
        dependencies: Iterable[params.Depends] = (),
        response_model: Any = NO_MODEL,
        response_model_include: IncEx | None = None,
        response_model_exclude: IncEx | None = None,
        response_model_by_alias: bool = True,
        response_model_exclude_unset: bool = False,
        response_model_exclude_defaults: bool = False,
        response_model_exclude_none: bool = False,
        **options: Unpack[SubscriberOptions],
    ) -> MqframeSubscriber:
        """Decorator: call the function with the messages of `topic`, or of another source.

        `options` as of `MqframeBroker.subscriber`, the others as of FastAPI's routes.
        """
        made: Callable[..., Any] = super().subscriber(
            topic,
            dependencies=dependencies,
            response_model=response_model,
            response_model_include=response_model_include,
            response_model_exclude=response_model_exclude,
            response_model_by_alias=response_model_by_alias,
            response_model_exclude_unset=response_model_exclude_unset,
            response_model_exclude_defaults=response_model_exclude_defaults,
            response_model_exclude_none=response_model_exclude_none,
            **options,
        )
        return cast("MqframeSubscriber", made)

    def publisher(self, topic: str, **options: Unpack[PublisherOptions]) -> MqframePublisher:  # type: ignore[override]
        """As `MqframeBroker.publisher`."""
        return self.broker.publisher(topic, **options)
