"""Offsets as brokers know them: the group's own, and the ends of queues."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from mqframe.client.connection.instance import ClientInstance
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, BadAnswer, HeaderError, RouteError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.moments import moment_ms
from mqframe.core.requests.consumers import (
    GetMaxOffset,
    GetMinOffset,
    OffsetAnswer,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
    UpdateConsumerOffset,
)
from mqframe.core.requests.fields import Request, decode_fields
from mqframe.core.wire.frame import Frame


class RoutedCalls(Protocol):
    """Routes, and calls of brokers: the part of a `ClientInstance` that asking for offsets takes."""

    async def route(self, topic: str, *, refresh: bool = False) -> TopicRoute:
        """The route of `topic`."""

    async def call(
        self, address: str, request: Request, body: bytes = b"", *, timeout: float | None = None
    ) -> Frame:
        """The successful answer of `address`."""


class ReadingPlace(NamedTuple):
    """Where a queue is read: an address, and whether it is that of its master."""

    address: str
    is_master: bool


async def reading_place(instance: RoutedCalls, queue: MessageQueue, broker_id: int = 0) -> ReadingPlace:
    """Where to read `queue`: the broker `broker_id`, or another of its name. Raises `RouteError`."""
    for refresh in (False, True):
        route = await instance.route(queue.topic, refresh=refresh)
        address = route.any_address(queue.broker_name, broker_id)
        if address is not None:
            return ReadingPlace(address, address == route.master_address(queue.broker_name))
    raise RouteError(f"the route of topic {queue.topic} names no broker {queue.broker_name}")


async def broker_address(instance: RoutedCalls, queue: MessageQueue) -> str:
    """The master of `queue`, or while there is none a slave. Raises `RouteError`."""
    return (await reading_place(instance, queue)).address


async def master_address(instance: RoutedCalls, queue: MessageQueue) -> str:
    """The master of `queue`. Raises `RouteError` while there is none."""
    for refresh in (False, True):
        route = await instance.route(queue.topic, refresh=refresh)
        address = route.master_address(queue.broker_name)
        if address is not None:
            return address
    if route.any_address(queue.broker_name) is None:
        raise RouteError(f"the route of topic {queue.topic} names no broker {queue.broker_name}")
    raise RouteError(f"broker {queue.broker_name} of topic {queue.topic} has no master at the moment")


class AskedQueueOffsets:
    """The ends of queues, by asking their brokers. Offsets count messages."""

    def __init__(self, instance: RoutedCalls) -> None:
        self._instance = instance

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of `queue` will get."""
        return await self._ask(
            queue, GetMaxOffset(queue.topic, queue.queue_id, committed=True, bname=queue.broker_name)
        )

    async def min_offset(self, queue: MessageQueue) -> int:
        """The oldest offset that can still be read."""
        return await self._ask(queue, GetMinOffset(queue.topic, queue.queue_id, bname=queue.broker_name))

    async def offset_at(self, queue: MessageQueue, timestamp_ms: int | datetime) -> int:
        """The offset of the first message stored at `timestamp_ms` or later.

        `timestamp_ms`: since 1970, or a datetime with its zone. Raises `FixError` for another one.
        """
        at = moment_ms(timestamp_ms, "timestamp_ms")
        request = SearchOffsetByTimestamp(queue.topic, queue.queue_id, at, bname=queue.broker_name)
        return await self._ask(queue, request)

    async def _ask(self, queue: MessageQueue, request: Request) -> int:
        address = await master_address(self._instance, queue)
        answer = await self._instance.call(address, request)
        return max(0, _offset(answer, queue, address))


async def committed_offset(instance: RoutedCalls, group: str, queue: MessageQueue) -> int | None:
    """The offset that the broker of `queue` holds for `group`; `None` when it holds none.

    Brokers before 5.0 say 0 for a new group on a queue that is short and still whole.
    """
    request = QueryConsumerOffset(
        group, queue.topic, queue.queue_id, set_zero_if_not_found=False, bname=queue.broker_name
    )
    return await _held(instance, queue, request)


async def presumed_offset(instance: RoutedCalls, group: str, queue: MessageQueue) -> int | None:
    """The same, but 0 when `group` has none of a queue that is short and still whole.

    So a queue that was added to a topic loses nothing of what came before a member took it.
    """
    request = QueryConsumerOffset(group, queue.topic, queue.queue_id, bname=queue.broker_name)
    return await _held(instance, queue, request)


async def commit_offset(instance: RoutedCalls, group: str, queue: MessageQueue, offset: int) -> None:
    """Have the master of `queue` hold `offset` for `group`, and return once it does.

    Raises what a call raises.
    """
    request = UpdateConsumerOffset(group, queue.topic, queue.queue_id, offset, bname=queue.broker_name)
    await instance.call(await master_address(instance, queue), request)


async def _held(instance: RoutedCalls, queue: MessageQueue, request: QueryConsumerOffset) -> int | None:
    address = await broker_address(instance, queue)
    try:
        answer = await instance.call(address, request)
    except AnswerError as refused:
        if refused.code == ResponseCode.QUERY_NOT_FOUND:
            return None
        raise
    offset = _offset(answer, queue, address)
    return offset if offset >= 0 else None


def _offset(answer: Frame, queue: MessageQueue, address: str) -> int:
    """The offset in `answer`; -1 is what some brokers say where there is none. Raises `BadAnswer`."""
    try:
        offset = decode_fields(answer.ext, OffsetAnswer).offset
    except HeaderError as problem:
        raise BadAnswer(f"answer of {address} about offsets of {queue}: {problem}") from None
    if offset < -1:
        raise BadAnswer(f"answer of {address} about offsets of {queue}: {offset} is none")
    return offset


class BrokerOffsets:
    """The offsets that brokers keep for `group`: what remote offset stores are made on."""

    def __init__(self, instance: ClientInstance, group: str) -> None:
        self._instance = instance
        self._group = group

    async def query(self, queue: MessageQueue) -> int | None:
        """The offset that the broker holds for the group; `None` when it holds none."""
        return await committed_offset(self._instance, self._group, queue)

    async def commit(self, queue: MessageQueue, offset: int) -> None:
        """Tell the broker's master, one-way: nobody answers whether it took it.

        While there is none, a slave is told: who joins meanwhile begins there, and mqframe's slaves tell the
        master when it is back (source: RemoteBrokerOffsetStore.java).
        """
        address = await broker_address(self._instance, queue)
        request = UpdateConsumerOffset(
            self._group, queue.topic, queue.queue_id, offset, bname=queue.broker_name
        )
        await self._instance.remoting.oneway(address, request)
