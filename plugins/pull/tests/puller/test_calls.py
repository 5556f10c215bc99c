"""Plain pulls over a scripted transport: what is asked of whom, and what is made of the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from mqframe_pull.puller.calls import PullCalls
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import ScriptedBroker

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.settings import ClientSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.pull import PullStatus
from mqframe.core.errors import (
    AnswerError,
    BodyUnreadable,
    FixError,
    MessageError,
    RetryError,
    RouteError,
    answer_error,
)
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.consumers import UpdateConsumerOffset
from mqframe.core.requests.fields import Request
from mqframe.core.requests.messages import PullMessage
from mqframe.core.requests.nameserver import GetAllTopicList, GetRouteinfoByTopic
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame

QUEUE = MessageQueue("t", "broker-a", 1)
BUSY = answer_error(ResponseCode.SYSTEM_BUSY, "busy", "10.0.0.1:10911")


class Transport:
    """A client instance over a scripted broker; several requests at once are sent one after the other."""

    def __init__(self, instance: ClientInstance, broker: ScriptedBroker) -> None:
        self.route = instance.route
        self.call = instance.call
        self.call_nameserver = instance.call_nameserver
        self.invoke = broker.invoke
        self.timeouts: list[float] = []

    async def invoke_all(self, address: str, requests: Sequence[Request], *, timeout: float) -> list[Frame]:
        self.timeouts.append(timeout)
        return [await self.invoke(address, each, timeout=timeout) for each in requests]


@asynccontextmanager
async def staged() -> AsyncIterator[tuple[PullCalls, ScriptedBroker, Transport]]:
    clock = ManualClock()
    broker = ScriptedBroker(clock, {"t": 2})
    broker.put("t", 1, b"a", b"b", b"c", b"d", tag="even")
    instance = ClientInstance(ClientSettings(nameserver=broker.nameserver), clock, broker)
    transport = Transport(instance, broker)
    yield (PullCalls(transport, "jobs", 9.0, instance.settings), broker, transport)
    await instance.stop()


async def test_an_illegal_group_is_refused_at_once() -> None:
    async with staged() as (_calls, _broker, transport):
        with pytest.raises(MessageError, match="no such group"):
            PullCalls(transport, "no such group", 9.0, ClientSettings())


async def test_queues_are_asked_for_anew_each_time() -> None:
    async with staged() as (calls, broker, _transport):
        assert await calls.queues("t") == [MessageQueue("t", "broker-a", 0), QUEUE]
        broker.topics["t"] = 3
        assert len(await calls.queues("t")) == 3
        assert (await calls.route("t")).topic == "t"
        assert len(broker.sent(GetRouteinfoByTopic)) == 2
        with pytest.raises(RouteError, match="no route to topic nowhere"):
            await calls.queues("nowhere")


async def test_a_body_with_a_wrong_crc_is_not_read() -> None:
    async with staged() as (calls, broker, transport):
        broker.damage("t", 1, 2)
        first, _, damaged, last = (await calls.pull(QUEUE, 0)).messages
        assert (first.body, last.body) == (b"a", b"d")
        with pytest.raises(BodyUnreadable, match="changed since it was stored"):
            damaged.body  # noqa: B018
        unchecked = PullCalls(transport, "jobs", 9.0, ClientSettings(check_body_crc=False))
        found = (await unchecked.pull(QUEUE, 0)).messages
        assert [each.body for each in found] == [b"a", b"b", b"b", b"d"]


async def test_pulls_say_who_wants_what() -> None:
    async with staged() as (calls, broker, _transport):
        found = await calls.pull(QUEUE, 1, 2, "even")
        assert (found.status, [m.body for m in found.messages]) == (PullStatus.FOUND, [b"b", b"c"])
        assert found.next_offset == 3
        [asked] = broker.sent(PullMessage)
        assert (asked.consumer_group, asked.queue_id, asked.queue_offset) == ("jobs", 1, 1)
        assert (asked.subscription, asked.max_msg_nums) == ("even", 2)
        raw = await calls.pull_raw(QUEUE, 3)
        assert [m.body for m in decode_records(bytes(raw.records), "broker-a")] == [b"d"]


async def test_what_lies_behind_a_pull_that_failed_for_now_is_left_out() -> None:
    async with staged() as (calls, broker, transport):
        asked = [(0, 1), (1, 1), (2, 2)]
        assert [each.next_offset for each in await calls.pull_all_raw(QUEUE, asked)] == [1, 2, 4]
        broker.script(PullMessage, BUSY)
        with pytest.raises(RetryError):
            await calls.pull_all_raw(QUEUE, asked)
        assert transport.timeouts == [9.0, 9.0]


async def test_numbers_that_make_no_sense_never_leave() -> None:
    async with staged() as (calls, broker, _transport):
        for work in (
            calls.pull(QUEUE, -1),
            calls.pull_raw(QUEUE, -1),
            calls.pull_all_raw(QUEUE, [(0, 1), (-1, 1)]),
            calls.commit(QUEUE, -1),
        ):
            with pytest.raises(FixError, match="offset -1 is negative"):
                await work
        with pytest.raises(FixError, match="max_messages is 0"):
            await calls.pull(QUEUE, 0, 0)
        assert broker.requests == []


async def test_offsets_are_kept_for_the_group() -> None:
    async with staged() as (calls, broker, _transport):
        await calls.commit(QUEUE, 3)
        [sent] = broker.sent(UpdateConsumerOffset)
        assert (sent.consumer_group, sent.queue_id, sent.commit_offset) == ("jobs", 1, 3)
        assert await calls.committed(QUEUE) == 3
        assert (await calls.min_offset(QUEUE), await calls.max_offset(QUEUE)) == (0, 4)
        with pytest.raises(RouteError, match="names no broker broker-z"):
            await calls.max_offset(MessageQueue("t", "broker-z", 0))


async def test_a_refused_list_of_topics_is_an_error_of_routes() -> None:
    async with staged() as (calls, broker, _transport):
        broker.script(GetAllTopicList, AnswerError(1, "no", broker.nameserver))
        with pytest.raises(RouteError, match="no list of topics"):
            await calls.topics()
