"""The broker of FastStream applications."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

import anyio
from fast_depends import Provider, dependency_provider
from fast_depends.pydantic import PydanticSerializer
from faststream._internal.broker import BrokerUsecase
from faststream._internal.constants import EMPTY
from faststream._internal.context.repository import ContextRepo
from faststream._internal.di import FastDependsConfig
from faststream.message import gen_cor_id
from faststream.middlewares import AckPolicy
from faststream.response import PublishType
from faststream.specification.schema import BrokerSpec

from mqframe import (
    AsyncTransaction,
    SendResult,
    TransactionSendResult,
)
from mqframe_faststream.config import MqframeBrokerConfig
from mqframe_faststream.connection import Connection
from mqframe_faststream.consuming.options import ConsumeFrom, checked_beginning
from mqframe_faststream.errors import NotingSerializer
from mqframe_faststream.keywords import ConnectionKeywords, addresses_of, options_of
from mqframe_faststream.logs import logger_state
from mqframe_faststream.message import MqframeMessage
from mqframe_faststream.producer import MqframeProducer
from mqframe_faststream.registrator import MqframeRegistrator
from mqframe_faststream.response import MqframePublishCommand, SendOptions, chosen_id, plan_of
from mqframe_faststream.transaction import BrokerTransaction

if TYPE_CHECKING:
    from fast_depends.dependencies import Dependant
    from fast_depends.library.serializer import SerializerProto
    from faststream._internal.basic_types import LoggerProto
    from faststream._internal.configs import UnderlyingDriverAnnotations
    from faststream._internal.parser import CodecProto
    from faststream._internal.types import BrokerMiddleware, CustomCallable, IdGenerator
    from faststream.security import BaseSecurity
    from faststream.specification.schema.extra import Tag, TagDict

T = TypeVar("T")
PING_SECONDS = 5.0


class MqframeBroker(MqframeRegistrator, BrokerUsecase[Any, Connection, MqframeBrokerConfig]):
    """A FastStream broker over mqframe, and over Apache RocketMQ.

        broker = MqframeBroker("127.0.0.1:9876", group="billing")

        @broker.subscriber("orders", tags="paid")
        @broker.publisher("invoices")
        async def bill(order: Order) -> Invoice: ...

    Args:
        nameserver: "host:port;host:port", or several such texts; by default what the variable NAMESRV_ADDR
            holds, else 127.0.0.1:9876.
        group: the consumer group of subscribers that name none; also the producer group.
        consume_from: where new groups begin whose subscribers do not say: "last", "first", a datetime, or ms
            since 1970.
        ack_policy: of subscribers that name none.
        graceful_timeout: how long a stop waits for running handlers, s; `None`: as long as they take.
        security: `SASLPlaintext` for access key and secret key, `BaseSecurity` for TLS.
        connection: see `ConnectionKeywords`.

    All others are as of FastStream's brokers. Raises `OptionError`, `PluginError` for hooks that are not
    installed, `SettingError`.
    """

    def __init__(
        self,
        nameserver: str | Iterable[str] = "",
        *,
        group: str = "",
        consume_from: ConsumeFrom = "last",
        graceful_timeout: float | None = 15.0,
        decoder: CustomCallable | None = None,
        parser: CustomCallable | None = None,
        codec: CodecProto | None = None,
        dependencies: Sequence[Dependant] = (),
        middlewares: Sequence[BrokerMiddleware[Any, Any]] = (),
        routers: Iterable[MqframeRegistrator] = (),
        ack_policy: AckPolicy = EMPTY,
        id_generator: IdGenerator = gen_cor_id,
        security: BaseSecurity | None = None,
        specification_url: str | Iterable[str] | None = None,
        protocol: str = "rocketmq",
        protocol_version: str | None = None,
        description: str | None = None,
        tags: Iterable[Tag | TagDict] = (),
        logger: LoggerProto | None = EMPTY,
        log_level: int = logging.INFO,
        apply_types: bool = True,
        serializer: SerializerProto | None = EMPTY,
        provider: Provider | None = None,
        context: ContextRepo | None = None,
        underlying_driver_annotations: UnderlyingDriverAnnotations | None = None,
        **connection: Unpack[ConnectionKeywords],
    ) -> None:
        addresses = addresses_of(nameserver, connection.get("client"))
        self._options = options_of(addresses, group, security, connection)
        super().__init__(
            routers=routers,
            config=MqframeBrokerConfig(
                group=group,
                consume_from=checked_beginning(consume_from, "broker"),
                producer=MqframeProducer(parser, decoder),
                broker_middlewares=middlewares,
                broker_parser=parser,
                broker_decoder=decoder,
                broker_codec=codec,
                logger=logger_state(logger, log_level),
                fd_config=_injection(apply_types, serializer, provider, context),
                broker_dependencies=dependencies,
                graceful_timeout=graceful_timeout,
                ack_policy=ack_policy,
                id_generator=id_generator,
                extra_context={"broker": self},
                underlying_driver_annotations=underlying_driver_annotations or {},
            ),
            specification=BrokerSpec(
                description=description,
                url=_urls(specification_url, protocol, addresses),
                protocol=protocol,
                protocol_version=protocol_version,
                tags=tags,
                security=security,
            ),
        )

    # Running

    async def start(self) -> None:
        """Connect, and have all subscribers join their groups.

        Raises `OptionError` for subscribers of a group that do not agree, `RouteError` when no name server
        answers, `AnswerError` when a broker refuses an expression.
        """
        await self.connect()
        groups = self.config.broker_config.groups
        if groups is None:  # a test broker stands in
            await super().start()
            return
        async with groups.together():
            await super().start()

    async def stop(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        """Pull nothing more, let running handlers finish, leave all groups, close all connections."""
        connection, self._connection = self._connection, None
        try:
            await super().stop(exc_type, exc_val, exc_tb)
            groups = self.config.broker_config.groups
            if groups is not None:
                await groups.stop()
        finally:
            self.config.broker_config.disconnect()
            if isinstance(connection, Connection):
                await connection.close()

    async def ping(self, timeout: float | None = PING_SECONDS) -> bool:
        """Whether a name server and a broker answer within `timeout` seconds."""
        connection = self._connection
        if connection is None:
            return False
        with anyio.move_on_after(timeout):
            return await connection.ping()
        return False

    async def _connect(self) -> Connection:
        connection = Connection(self._options)
        await connection.open()
        self.config.broker_config.connect(connection)
        return connection

    # Publishing

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
        """Publish `message` to `topic` and wait until its broker has stored it.

        Args:
            message: bytes and text as they are, anything else as JSON.
            topic: where to.
            headers: properties of the message; empty ones are left out.
            correlation_id: by default a new one.
            reply_to: topic that the handler is to send its result to.
            timeout: longest time in all, s (3).
            oneway: wait for no answer; returns `None`.
            options: `tag`, `keys`, `sharding_key`, `queue`, and one of `delay`, `deliver_at`, `delay_level`.

        Raises as `mqframe.AsyncProducer.send`, and `OptionError` for options that exclude one another.
        """
        command = self._command(message, topic, headers, correlation_id, timeout, options)
        command.reply_to, command.oneway = reply_to, oneway
        sent: SendResult | None = await self._basic_publish(command, producer=self.config.producer)
        return sent

    async def publish_batch(  # type: ignore[override]
        self,
        *messages: Any,
        topic: str = "",
        headers: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
        reply_to: str = "",
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> SendResult:
        """Publish `messages` to one queue of `topic` in one request; stored all or none.

        A `MqframeResponse` among them has a tag, keys and headers of its own. Arguments as of `publish`,
        without delays. Raises as `mqframe.AsyncProducer.send_batch`, and `OptionError`.
        """
        body, *more = messages or (None,)
        command = self._command(body, topic, headers, correlation_id, timeout, options)
        command.reply_to, command.extra_bodies = reply_to, tuple(more)
        sent: SendResult = await self._basic_publish_batch(command, producer=self.config.producer)
        return sent

    async def request(  # type: ignore[override]
        self,
        message: Any = None,
        topic: str = "",
        *,
        headers: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
        timeout: float | None = None,
        **options: Unpack[SendOptions],
    ) -> MqframeMessage:
        """Publish `message` and wait for what its handler returns.

        `timeout`: longest time there and back, s (3). Other arguments as of `publish`. Raises `ReplyTimeout`
        (a `TimeoutError`) when no reply came in time, and as `publish`.
        """
        command = self._command(message, topic, headers, correlation_id, timeout, options)
        command.publish_type = PublishType.REQUEST
        reply: MqframeMessage = await self._basic_request(command, producer=self.config.producer)
        return reply

    def transaction(
        self,
        message: Any = None,
        topic: str = "",
        *,
        headers: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
        timeout: float | None = None,
        check_after: float | None = None,
        **options: Unpack[SendOptions],
    ) -> BrokerTransaction:
        """A block with which a message stands or falls: `async with broker.transaction(order, "orders"): …`.

        The broker holds the message back until the block ends: then it is delivered, or dropped if the block
        raised. The block gets a `mqframe.AsyncTransaction`. `check_after`: s in which nobody is asked how it
        ended. Other arguments as of `publish`, without delays.
        """
        command = self._command(message, topic, headers, correlation_id, timeout, options)
        producer = cast("MqframeProducer", self.config.producer)

        async def begin() -> AsyncTransaction:
            return await self._through(partial(producer.begin, check_after=check_after), command)

        return BrokerTransaction(begin)

    async def publish_in_transaction(
        self,
        message: Any = None,
        topic: str = "",
        argument: Any = None,
        *,
        headers: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
        timeout: float | None = None,
        check_after: float | None = None,
        **options: Unpack[SendOptions],
    ) -> TransactionSendResult:
        """Publish `message` together with what the broker's `transaction_listener` does with `argument`.

        Arguments as of `transaction`. Raises as `mqframe.AsyncTransactionProducer.send_in_transaction`.
        """
        command = self._command(message, topic, headers, correlation_id, timeout, options)
        producer = cast("MqframeProducer", self.config.producer)
        run = partial(producer.run, argument=argument, check_after=check_after)
        return await self._through(run, command)

    def _command(
        self,
        message: Any,
        topic: str,
        headers: Mapping[str, Any] | None,
        correlation_id: str | None,
        timeout: float | None,
        options: SendOptions,
    ) -> MqframePublishCommand:
        return MqframePublishCommand(
            message,
            topic=topic,
            headers=headers,
            correlation_id=chosen_id(correlation_id, headers, self.config.id_generator),
            plan=plan_of(options),
            timeout=timeout,
            _publish_type=PublishType.PUBLISH,
        )

    async def _through(
        self, send: Callable[[MqframePublishCommand], Awaitable[T]], command: MqframePublishCommand
    ) -> T:
        """`send(command)`, by way of the middlewares."""
        chain: Callable[[Any], Awaitable[Any]] = send
        for make in self.middlewares[::-1]:
            chain = partial(make(None, context=self.context).publish_scope, chain)
        result: T = await chain(command)
        return result


def _urls(shown: str | Iterable[str] | None, protocol: str, addresses: Iterable[str]) -> list[str]:
    if isinstance(shown, str):
        return [shown]
    return list(shown or [f"{protocol}://{address}" for address in addresses])


def _injection(
    apply_types: bool,
    serializer: SerializerProto | None,
    provider: Provider | None,
    context: ContextRepo | None,
) -> FastDependsConfig:
    if serializer is EMPTY:
        serializer = PydanticSerializer(use_fastdepends_errors=False)  # FastStream's own choice
    return FastDependsConfig(
        use_fastdepends=apply_types,
        serializer=serializer and NotingSerializer(serializer),
        provider=provider or dependency_provider,
        context=context or ContextRepo(),
    )
