"""How subscribers and publishers are registered, with brokers and routers alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from faststream._internal.broker.registrator import Registrator
from faststream._internal.constants import EMPTY
from faststream._internal.endpoint.subscriber.call_item import CallsCollection
from faststream.exceptions import SetupError
from faststream.middlewares import AckPolicy

from mqframe import FixError, Sql
from mqframe.core.messages.checks import check_sendable_topic
from mqframe_faststream.config import (
    MqframeBrokerConfig,
    MqframePublisherConfig,
    MqframePublisherSpecificationConfig,
    MqframeSubscriberConfig,
    MqframeSubscriberSpecificationConfig,
)
from mqframe_faststream.consuming.options import (
    GroupOptions,
    Queues,
    SubscriberPlan,
    Tags,
    expression_of,
    records,
    source,
)
from mqframe_faststream.errors import OptionError
from mqframe_faststream.publisher import MqframePublisher
from mqframe_faststream.response import SendOptions, plan_of
from mqframe_faststream.specification import MqframePublisherSpecification, MqframeSubscriberSpecification
from mqframe_faststream.subscriber import MqframeSubscriber

if TYPE_CHECKING:
    from fast_depends.dependencies import Dependant
    from faststream._internal.parser import CodecProto
    from faststream._internal.types import BrokerMiddleware, CustomCallable


class MqframeRegistrator(Registrator[Any, MqframeBrokerConfig]):
    """What brokers and routers have in common."""

    def subscriber(  # type: ignore[override]
        self,
        topic: str = "",
        *,
        pattern: str = "",
        queues: Queues | None = None,
        group: str = "",
        tags: Tags | None = None,
        sql: str | Sql | None = None,
        batch: bool = False,
        max_records: int | None = None,
        max_workers: int = 1,
        ack_policy: AckPolicy = EMPTY,
        no_reply: bool = False,
        dependencies: Sequence[Dependant] = (),
        parser: CustomCallable | None = None,
        decoder: CustomCallable | None = None,
        codec: CodecProto | None = None,
        persistent: bool = True,
        title: str | None = None,
        description: str | None = None,
        include_in_schema: bool = True,
        **of_group: Unpack[GroupOptions],
    ) -> MqframeSubscriber:
        """Decorator: call the function with the messages of `topic`, or of another source.

        `pattern`: all topics that it means, those too that come later: "orders-{region}"; `Path()` gives the
        part. `queues`: these queues of one topic, which nobody shares, each from where its group is, or from
        the offset that it is given with. `group`: the consumer group, by default the broker's, else one named
        after the topic. `tags`, `sql`: what to choose, "paid || refunded" or a list of tags, or an expression
        over properties. `batch`, `max_records`: call it with lists of so many (32). `max_workers`: calls at
        once. `ack_policy`: what becomes of messages whose handler raises; they come again unless it is given.

        `ordered`: messages of a queue come one after the other; what fails is tried again in its place.
        `broadcasting`: every member gets every message; what fails is dropped. `mode`, `mode_options`: as of
        `PushConsumer`. `consume_from`: where a new group begins: "last", "first", a datetime, or ms since
        1970; by default as the broker says. `max_reconsume_times`: a message that failed so often is a dead
        letter (unset and 0: as often as its group says; in order: 0 at once, unset never). `consume_timeout`:
        a call that takes so long has failed, s (900).

        All others are as of FastStream's brokers. Raises `OptionError` for what makes no sense.
        """
        wanted = SubscriberPlan(
            **source(topic, pattern, queues),
            group=group,
            expression=expression_of(tags, sql, topic or pattern),
            batch=batch,
            max_records=records(batch, max_records, topic or pattern),
            max_workers=max_workers,
            **of_group,
        )
        made = self._make_subscriber(wanted, ack_policy, no_reply, (title, description, include_in_schema))
        super().subscriber(made, persistent=persistent)
        parser, decoder = parser or self._parser, decoder or self._decoder
        return made.add_call(parser_=parser, decoder_=decoder, codec_=codec, dependencies_=dependencies)

    def publisher(  # type: ignore[override]
        self,
        topic: str,
        *,
        headers: Mapping[str, Any] | None = None,
        reply_to: str = "",
        batch: bool = False,
        persistent: bool = True,
        title: str | None = None,
        description: str | None = None,
        schema: Any = None,
        include_in_schema: bool = True,
        **options: Unpack[SendOptions],
    ) -> MqframePublisher:
        """An object that publishes to `topic`; also a decorator of handlers whose results it publishes.

        Args:
            topic: the topic.
            headers: of all messages; a message's own win.
            reply_to: topic that handlers of the messages are to send their results to.
            batch: a handler's list is published as messages of one request.
            persistent: keep the publisher though nobody holds it.
            title: its name in AsyncAPI documents.
            description: its description there.
            schema: the type of its messages there, by default that of the handler's result.
            include_in_schema: whether it is there.
            options: of all messages, as of `publish`; a message's own win.

        Raises `OptionError` when something makes no sense.
        """
        try:
            check_sendable_topic(topic)
        except FixError as problem:
            raise OptionError(f"publisher to {topic!r}: {problem}") from None
        plan = plan_of(options)
        if batch and plan.is_delayed:
            raise OptionError(f"publisher to {topic!r}: a batch cannot be delayed")
        outer = cast("MqframeBrokerConfig", self.config)
        specification = MqframePublisherSpecification(
            outer,
            MqframePublisherSpecificationConfig(
                topic=topic,
                plan=plan,
                schema_=schema,
                title_=title,
                description_=description,
                include_in_schema=include_in_schema,
            ),
        )
        config = MqframePublisherConfig(
            topic=topic,
            plan=plan,
            headers=dict(headers or {}),
            reply_to=reply_to,
            batch=batch,
            _outer_config=outer,
        )
        made = MqframePublisher(config, specification)
        super().publisher(made, persistent=persistent)
        return made

    def include_router(
        self,
        router: Registrator[Any, Any],
        *,
        prefix: str = "",
        dependencies: Sequence[Dependant] = (),
        middlewares: Sequence[BrokerMiddleware[Any, Any]] = (),
        include_in_schema: bool | None = None,
    ) -> None:
        """Take in all that `router` has. Raises `SetupError` for a router of another kind of broker."""
        if not isinstance(router, MqframeRegistrator):
            raise SetupError(f"a MqframeRouter can be included here, not a {type(router).__name__}")
        super().include_router(
            router,
            prefix=prefix,
            dependencies=dependencies,
            middlewares=middlewares,
            include_in_schema=include_in_schema,
        )

    def _make_subscriber(
        self,
        wanted: SubscriberPlan,
        ack_policy: AckPolicy,
        no_reply: bool,
        shown: tuple[str | None, str | None, bool],
    ) -> MqframeSubscriber:
        outer = cast("MqframeBrokerConfig", self.config)
        title, description, include_in_schema = shown
        calls = CallsCollection[Any]()
        specification = MqframeSubscriberSpecification(
            outer,
            MqframeSubscriberSpecificationConfig(
                subscription=wanted,
                title_=title,
                description_=description,
                include_in_schema=include_in_schema,
            ),
            calls,
        )
        config = MqframeSubscriberConfig(
            subscription=wanted, no_reply=no_reply, _outer_config=outer, _ack_policy=ack_policy
        )
        return MqframeSubscriber(config, specification, calls)
