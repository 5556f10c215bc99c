"""Publishers: objects that publish to one topic, and decorators of handlers whose results they publish."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack, cast

from faststream._internal.endpoint.publisher import PublisherUsecase
from faststream._internal.endpoint.publisher.fake import FakePublisher
from faststream.response import PublishType, ensure_response
from faststream.response.response import PublishCommand

from mqframe import ReceivedMessage, SendResult
from mqframe_faststream.config import MqframeBrokerConfig, topic_of
from mqframe_faststream.message import MqframeMessage
from mqframe_faststream.response import MqframePublishCommand, SendOptions, chosen_id, plan_of

if TYPE_CHECKING:
    from faststream._internal.producer import ProducerProto
    from faststream._internal.types import PublisherMiddleware

    from mqframe_faststream.config import MqframePublisherConfig
    from mqframe_faststream.specification import MqframePublisherSpecification


class MqframePublisher(PublisherUsecase):
    """A publisher of one topic. Made by `MqframeBroker.publisher`, which says what the options mean."""

    _outer_config: MqframeBrokerConfig

    def __init__(self, config: MqframePublisherConfig, specification: MqframePublisherSpecification) -> None:
        super().__init__(config, cast("Any", specification))
        self._topic = config.topic
        self.plan = config.plan
        self.headers = config.headers
        self.reply_to = config.reply_to
        self.batch = config.batch

    @property
    def topic(self) -> str:
        """The topic, with the prefixes of its routers."""
        return topic_of(self._topic, self._outer_config)

    async def publish(
        self,
        message: Any = None,
        topic: str = "",
        *,
        headers: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
        reply_to: str = "",
        timeout: float | None = None,
        oneway: bool = False,
        **options: Unpack[SendOptions],
    ) -> SendResult | None:
        """Publish `message`, by default as this publisher says. As `MqframeBroker.publish`."""
        command = MqframePublishCommand(
            message,
            topic=topic or self.topic,
            headers={**self.headers, **(headers or {})},
            correlation_id=chosen_id(correlation_id, headers, self._outer_config.id_generator),
            reply_to=reply_to or self.reply_to,
            plan=plan_of(options).over(self.plan),
            timeout=timeout,
            oneway=oneway,
            _publish_type=PublishType.PUBLISH,
        )
        producer = self._outer_config.producer
        sent: SendResult | None = await self._basic_publish(command, producer=producer, _extra_middlewares=())
        return sent

    async def publish_batch(
        self,
        *messages: Any,
        topic: str = "",
        headers: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
        reply_to: str = "",
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> SendResult:
        """Publish `messages` in one request. As `MqframeBroker.publish_batch`."""
        command = MqframePublishCommand(
            *messages if messages else (None,),
            topic=topic or self.topic,
            headers={**self.headers, **(headers or {})},
            correlation_id=chosen_id(correlation_id, headers, self._outer_config.id_generator),
            reply_to=reply_to or self.reply_to,
            plan=plan_of(options).over(self.plan),
            timeout=timeout,
            _publish_type=PublishType.PUBLISH,
        )
        producer = self._outer_config.producer
        sent: SendResult = await self._basic_publish_batch(command, producer=producer, _extra_middlewares=())
        return sent

    async def request(
        self,
        message: Any = None,
        topic: str = "",
        *,
        headers: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> MqframeMessage:
        """Publish `message` and wait for the reply. As `MqframeBroker.request`."""
        command = MqframePublishCommand(
            message,
            topic=topic or self.topic,
            headers={**self.headers, **(headers or {})},
            correlation_id=chosen_id(correlation_id, headers, self._outer_config.id_generator),
            plan=plan_of(options).over(self.plan),
            timeout=timeout,
            _publish_type=PublishType.REQUEST,
        )
        reply: MqframeMessage = await self._basic_request(command, producer=self._outer_config.producer)
        return reply

    async def _publish(
        self, cmd: PublishCommand, *, _extra_middlewares: Iterable[PublisherMiddleware]
    ) -> None:
        command = MqframePublishCommand.from_cmd(cmd, batch=self.batch)
        command.destination = command.destination or self.topic
        command.reply_to = command.reply_to or self.reply_to
        command.add_headers(self.headers, override=False)
        command.plan = command.plan.over(self.plan)
        producer = self._outer_config.producer
        if self.batch:
            if not command.batch_bodies:
                return  # the handler has nothing to say
            await self._basic_publish_batch(command, producer=producer, _extra_middlewares=_extra_middlewares)
        else:
            await self._basic_publish(command, producer=producer, _extra_middlewares=_extra_middlewares)


class ReplyPublisher(FakePublisher):
    """Sends a handler's result to who asked: to the client that waits for `request`, else to a topic.

    `place`: which message of a batch asked, and how many messages it has. Of a result with as many parts each
    gets its own, of any other all get the whole.
    """

    def __init__(
        self,
        producer: ProducerProto[Any],
        topic: str,
        request: ReceivedMessage | None,
        place: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(producer=producer)
        self.topic = topic
        self.request_message = request
        self._place = place

    def patch_command(self, cmd: PublishCommand) -> MqframePublishCommand:
        """The reply."""
        command = MqframePublishCommand.from_cmd(super().patch_command(self._own(cmd)))
        command.destination = self.topic
        command.request = self.request_message
        return command

    def _own(self, cmd: PublishCommand) -> PublishCommand:
        if self._place is None:
            return cmd
        index, count = self._place
        if not isinstance(cmd.body, list | tuple) or len(cmd.body) != count:
            return cmd
        own = ensure_response(cmd.body[index])
        own.correlation_id = own.correlation_id or cmd.correlation_id
        return own.as_publish_command()
