"""What handlers and applications hand over to be sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack

import attrs
from faststream.response import PublishType, Response
from faststream.response.response import BatchPublishCommand, PublishCommand

from mqframe import MessageQueue, ReceivedMessage
from mqframe.core.delay.options import delay_properties
from mqframe_faststream.errors import OptionError
from mqframe_faststream.parser import CORRELATION


class SendOptions(TypedDict, total=False):
    """What RocketMQ knows of a message besides its body and headers.

    `tag`; `keys`: business ids, one text or several; `sharding_key`: messages of one key go to one queue, in
    order; `queue`: send there; one of `delay` (seconds or timedelta), `deliver_at` (datetime with time zone,
    or ms since 1970) and `delay_level` (1 is the first).
    """

    tag: str | None
    keys: str | Sequence[str]
    sharding_key: str | None
    queue: MessageQueue | None
    delay: float | timedelta | None
    deliver_at: datetime | int | None
    delay_level: int | None


def _several_keys(keys: str | Sequence[str]) -> tuple[str, ...]:
    return (keys,) if isinstance(keys, str) else tuple(keys)


@attrs.frozen(kw_only=True)
class SendPlan:
    """`SendOptions`, checked. Raises `OptionError` for two delays, `MessageError` for a bad one."""

    tag: str | None = None
    keys: Sequence[str] = attrs.field(default=(), converter=_several_keys)
    sharding_key: str | None = None
    queue: MessageQueue | None = None
    delay: float | timedelta | None = None
    deliver_at: datetime | int | None = None
    delay_level: int | None = None

    def __attrs_post_init__(self) -> None:
        delays = (self.delay, self.deliver_at, self.delay_level)
        given = sum(each is not None for each in delays)
        if given > 1:
            raise OptionError("give one of delay, deliver_at and delay_level, not several")
        if given:
            delay_properties(*delays)
        if self.queue is not None and self.sharding_key is not None:
            raise OptionError("a queue is given already; leave sharding_key out")

    @property
    def is_delayed(self) -> bool:
        """Whether the message is to be delivered later."""
        return not (self.delay is None and self.deliver_at is None and self.delay_level is None)

    @property
    def is_bound(self) -> bool:
        """Whether the message has to go to one queue."""
        return self.queue is not None or self.sharding_key is not None

    def over(self, base: SendPlan) -> SendPlan:
        """This plan; what it leaves open is as in `base`."""
        if self is NO_PLAN:
            return base
        values = attrs.asdict(base, recurse=False)
        own = {name: value for name, value in attrs.asdict(self, recurse=False).items() if value}
        if self.is_delayed:
            values.update(delay=None, deliver_at=None, delay_level=None)
        if self.is_bound:
            values.update(queue=None, sharding_key=None)
        return SendPlan(**{**values, **own})


NO_PLAN = SendPlan()


def plan_of(options: SendOptions) -> SendPlan:
    """`options`, checked. Raises as `SendPlan`."""
    return SendPlan(**options) if options else NO_PLAN


def chosen_id(
    correlation_id: str | None, headers: Mapping[str, Any] | None, generate: Callable[[], str]
) -> str:
    """The correlation id of a message: that which was handed in, or stands in its headers; else a new one."""
    return correlation_id or (headers or {}).get(CORRELATION) or generate()


class MqframeResponse(Response):
    """A handler's result, or one message of `publish_batch`, with all that RocketMQ knows of a message."""

    def __init__(
        self,
        body: Any,
        *,
        headers: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
        **options: Unpack[SendOptions],
    ) -> None:
        said = correlation_id or (headers or {}).get(CORRELATION)
        super().__init__(body, headers=dict(headers or {}), correlation_id=said)
        self.plan = plan_of(options)

    def as_publish_command(self) -> MqframePublishCommand:
        """The command that publishers get."""
        return MqframePublishCommand(
            self.body,
            headers=self.headers,
            correlation_id=self.correlation_id,
            plan=self.plan,
            _publish_type=PublishType.PUBLISH,
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Any body: a handler that is annotated with it gets into AsyncAPI documents so."""
        from pydantic_core import core_schema

        return core_schema.any_schema()

    def get_publish_key(self) -> str | None:
        """The sharding key."""
        return self.plan.sharding_key


class MqframePublishCommand(BatchPublishCommand):
    """A message, or several, on its way to the producer; middlewares see and change it.

    `destination`: the topic; `plan`: tag, keys and so on; `timeout`: longest time in all, s; `oneway`: nobody
    waits for an answer; `request`: the message that this one answers.
    """

    def __init__(
        self,
        body: Any,
        /,
        *bodies: Any,
        _publish_type: PublishType,
        topic: str = "",
        headers: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
        reply_to: str = "",
        plan: SendPlan = NO_PLAN,
        timeout: float | None = None,
        oneway: bool = False,
        request: ReceivedMessage | None = None,
    ) -> None:
        super().__init__(
            body,
            *bodies,
            _publish_type=_publish_type,
            destination=topic,
            headers=dict(headers or {}),
            correlation_id=correlation_id,
            reply_to=reply_to,
        )
        self.plan = plan
        self.timeout = timeout
        self.oneway = oneway
        self.request = request

    @classmethod
    def from_cmd(cls, cmd: PublishCommand, *, batch: bool = False) -> MqframePublishCommand:
        """`cmd` itself, or what another broker's handler returned as one of ours.

        `batch`: a sequence for a body are several messages.
        """
        body, more = cls._parse_bodies(cmd.body, batch=batch)
        if isinstance(cmd, MqframePublishCommand):
            if batch and not cmd.extra_bodies:
                cmd.body, cmd.extra_bodies = body, more
            return cmd
        return cls(
            body,
            *more,
            topic=cmd.destination,
            headers=cmd.headers,
            correlation_id=cmd.correlation_id,
            reply_to=cmd.reply_to,
            _publish_type=cmd.publish_type,
        )
