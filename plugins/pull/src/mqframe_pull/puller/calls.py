"""Plain pulls and offsets of queues, over a `PullTransport`: one template for both APIs."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

from mqframe.client.consuming.expressions import check_expression
from mqframe.client.consuming.group.offsets import (
    AskedQueueOffsets,
    RoutedCalls,
    broker_address,
    commit_offset,
    committed_offset,
)
from mqframe.client.settings import ClientSettings
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.cluster.route_bodies import TopicList
from mqframe.core.consuming.pull import (
    BYTES_MAX,
    MESSAGES_MAX,
    PullResult,
    pull_request,
    read_answer,
)
from mqframe.core.errors import AnswerError, FixError, RetryError, RouteError
from mqframe.core.filtering.filter_expression import MessageChoice, Sql, filter_of
from mqframe.core.messages.many import guard_bodies
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import check_group
from mqframe.core.requests.fields import Request
from mqframe.core.requests.nameserver import GetAllTopicList
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame
from mqframe_pull.puller.raw_pull import RawPull, read_raw


class PullTransport(RoutedCalls, Protocol):
    """What pulls need of the outside. The coroutines of a blocking transport never suspend."""

    async def call_nameserver(self, request: Request) -> Frame:
        """The successful answer of a name server. Raises `AnswerError`, `RouteError`."""

    def invoke(self, address: str, request: Request, *, timeout: float) -> Awaitable[Frame]:
        """The answer to a request, whatever its code."""

    async def invoke_all(self, address: str, requests: Sequence[Request], *, timeout: float) -> list[Frame]:
        """The answers to several requests that are sent at once, in their order, whatever their codes."""


class PullCalls(AskedQueueOffsets):
    """Reads queues at any offset as `group`; `timeout`: seconds that an answer may take.

    `client`: what bodies are held to.
    """

    group: str
    """The consumer group that brokers take the reader for."""

    def __init__(self, transport: PullTransport, group: str, timeout: float, client: ClientSettings) -> None:
        check_group(group)
        super().__init__(transport)
        self._settings = client
        self.group = group
        self._transport = transport
        self._timeout = timeout

    async def queues(self, topic: str) -> list[MessageQueue]:
        """The queues of `topic` that can be read, sorted. Raises `RouteError`."""
        return list((await self._transport.route(topic, refresh=True)).read_queues())

    async def topics(self) -> list[str]:
        """The topics that name servers know, sorted, those of the system included. Raises `RouteError`."""
        try:
            answer = await self._transport.call_nameserver(GetAllTopicList())
        except AnswerError as refused:
            raise RouteError(f"no list of topics: {refused}") from refused
        return sorted(loose_json.decode(bytes(answer.body), TopicList).topic_list)

    async def route(self, topic: str, *, refresh: bool = False) -> TopicRoute:
        """The route of `topic`. Raises `RouteError` when no name server knows it or none answers."""
        return await self._transport.route(topic, refresh=refresh)

    async def pull(
        self,
        queue: MessageQueue,
        offset: int,
        max_messages: int = MESSAGES_MAX,
        expression: str | Sql = "*",
        *,
        wait: float = 0.0,
        bytes_max: int = BYTES_MAX,
    ) -> PullResult:
        """The messages of `queue` from `offset` on that `expression` chooses, `max_messages` at most.

        `expression`: "*", tags joined by "||", or `Sql`. `wait`: seconds that the broker may wait for the
        first one. Raises what a call raises, `AnswerError`, and `FixError` for numbers and expressions that
        make no sense; an offset that does not exist is no error but OFFSET_ILLEGAL.
        """
        choice = filter_of(expression)
        request = self._request(queue, offset, max_messages, choice, wait, bytes_max)
        address = await broker_address(self._transport, queue)
        answer = await self._transport.invoke(address, request, timeout=wait + self._timeout)
        result = read_answer(answer, queue, choice, address, offset)
        guard_bodies(result.messages, self._settings.unpacked_bytes_max, self._settings.check_body_crc)
        return result

    async def pull_raw(
        self,
        queue: MessageQueue,
        offset: int,
        max_messages: int = MESSAGES_MAX,
        expression: str | Sql = "*",
        *,
        bytes_max: int = BYTES_MAX,
        bulk: bool = False,
    ) -> RawPull:
        """As `pull`, without waiting, with the records as they are: for readers of many messages at once.

        `bulk`: brokers of this project give more than to consumers, as their settings say.
        """
        choice = filter_of(expression)
        request = self._request(queue, offset, max_messages, choice, 0.0, bytes_max, bulk)
        address = await broker_address(self._transport, queue)
        answer = await self._transport.invoke(address, request, timeout=self._timeout)
        return read_raw(answer, queue, choice, address, offset)

    async def pull_all_raw(
        self,
        queue: MessageQueue,
        asked: Sequence[tuple[int, int]],
        expression: str | Sql = "*",
        *,
        bytes_max: int = BYTES_MAX,
        bulk: bool = False,
    ) -> list[RawPull]:
        """Several pulls of `queue`, each (offset, most messages), sent at once; their answers in this order.

        Those behind one that failed in a way that may pass are left out. Raises as `pull_raw` when it is the
        first.
        """
        choice = filter_of(expression)
        requests = [
            self._request(queue, offset, count, choice, 0.0, bytes_max, bulk) for offset, count in asked
        ]
        address = await broker_address(self._transport, queue)
        found: list[RawPull] = []
        answers = await self._transport.invoke_all(address, requests, timeout=self._timeout)
        for answer, (offset, _) in zip(answers, asked, strict=True):
            try:
                found.append(read_raw(answer, queue, choice, address, offset))
            except RetryError:
                if not found:
                    raise
                break
        return found

    async def committed(self, queue: MessageQueue) -> int | None:
        """The offset that the broker holds for the group; `None` when it holds none.

        Brokers before 5.0 say 0 for a new group on a queue that is short and still whole.
        """
        return await committed_offset(self._transport, self.group, queue)

    async def commit(self, queue: MessageQueue, offset: int) -> None:
        """Have the broker hold `offset` for the group, and return once it does.

        Raises `AnswerError` 26 for a group that the broker does not know; one that has pulled is known where
        brokers make groups by themselves.
        """
        _check_numbers(offset, 1)
        await commit_offset(self._transport, self.group, queue, offset)

    def _request(
        self,
        queue: MessageQueue,
        offset: int,
        max_messages: int,
        choice: MessageChoice,
        wait: float,
        bytes_max: int,
        bulk: bool = False,
    ) -> Request:
        _check_numbers(offset, max_messages)
        check_expression(choice)
        return pull_request(
            self.group,
            queue,
            offset,
            messages_max=max_messages,
            bytes_max=bytes_max,
            expression=choice.expression,
            expression_type=choice.expression_type,
            wait_seconds=wait,
            bulk=bulk,
        )


def _check_numbers(offset: int, max_messages: int) -> None:
    if offset < 0:
        raise FixError(f"offset {offset} is negative")
    if max_messages < 1:
        raise FixError(f"max_messages is {max_messages}; at least one message must be asked for")
