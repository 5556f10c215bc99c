"""Requests of operators reach the consumer of the group that they are about."""

from __future__ import annotations

import asyncio
import inspect
from typing import cast

import pytest
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import HOST, ScriptedBroker

from mqframe.client.connection.operator_requests import OperatorRequests, stacks
from mqframe.core.consuming.running_info import ConsumerRunningInfo, DirectOutcome, DirectResult
from mqframe.core.errors import Refusal
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.insight import (
    ConsumeMessageDirectly,
    GetConsumerRunningInfo,
    GetConsumerStatusFromClient,
    ResetConsumerClientOffset,
)
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.storage.record import encode_record
from mqframe.core.wire.frame import Frame

QUEUE = MessageQueue("orders", "broker-a", 1)


class Consumer:
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.resets = []
        self.consumed = []

    async def reset_offsets(self, topic, offsets):
        self.resets.append((topic, offsets))

    def remembered_offsets(self, topic):
        return {QUEUE: 7} if topic == "orders" else {}

    async def running_info(self):
        return ConsumerRunningInfo(properties={"own": "1"})

    async def consume_directly(self, message):
        self.consumed.append((message.queue, message.queue_offset, message.body))
        return DirectResult(consume_result=DirectOutcome.SUCCESS)


class Scene:
    def __init__(self) -> None:
        self.broker = ScriptedBroker(ManualClock(), {})
        self.requests = OperatorRequests(lambda: ("n:1", "n:2"))
        self.broker.serve(self.requests)
        self.consumer = Consumer()
        self.requests.add("billing", self.consumer)

    async def ask(self, request, body=b""):
        frame = Frame(request.CODE, ext=encode_fields(request), body=body)
        answer = self.broker.handlers[frame.code](Call(frame, cast("Peer", None), 0.0))
        return await answer if inspect.isawaitable(answer) else answer


async def test_a_reset_goes_to_its_group_and_to_nobody_else():
    body = b'{"offsetTable":{{"brokerName":"broker-a","queueId":1,"topic":"orders"}:5}}'

    scene = Scene()
    for group in ("billing", "audit"):
        reset = ResetConsumerClientOffset("orders", group, 0)
        assert isinstance(await scene.ask(reset, body), Reply)
    assert scene.consumer.resets == [("orders", {QUEUE: 5})]


async def test_remembered_offsets_of_a_group_that_is_not_here_are_none():
    scene = Scene()
    found = await scene.ask(GetConsumerStatusFromClient("orders", "billing"))
    assert found.message_queue_table == {QUEUE: 7}
    scene.requests.remove("billing")
    found = await scene.ask(GetConsumerStatusFromClient("orders", "billing"))
    assert found.message_queue_table == {}


async def test_running_info_is_completed_by_what_the_client_knows():
    scene = Scene()
    found = await scene.ask(GetConsumerRunningInfo("billing", "c"))
    assert found.properties == {
        "own": "1",
        "PROP_NAMESERVER_ADDR": "n:1;n:2;",
        "PROP_CLIENT_VERSION": "V5_3_3",
    }
    assert found.jstack is None
    found = await scene.ask(GetConsumerRunningInfo("billing", "c", True))
    assert "MainThread" in found.jstack
    with pytest.raises(Refusal, match="consumer group audit does not consume in this client"):
        await scene.ask(GetConsumerRunningInfo("audit", "c"))


async def test_a_message_is_consumed_directly_by_its_group():
    record = encode_record(
        topic="orders", queue_id=1, queue_offset=9, physical_offset=900, body=b"paid", properties=b"",
        born_timestamp=1, born_host=HOST, store_timestamp=2, store_host=HOST,
    )  # fmt: skip

    scene = Scene()
    request = ConsumeMessageDirectly("billing", "c", "id", "broker-a")
    assert (await scene.ask(request, record)).consume_result is DirectOutcome.SUCCESS
    assert scene.consumer.consumed == [(QUEUE, 9, b"paid")]
    with pytest.raises(Refusal, match="the request's body is no message"):
        await scene.ask(request, b"short")
    with pytest.raises(Refusal, match="audit does not consume"):
        await scene.ask(ConsumeMessageDirectly("audit"), record)
    assert len(scene.consumer.consumed) == 1


async def test_stacks_show_threads_and_tasks_innermost_frame_first():
    async def inner():
        return stacks()

    Scene()

    async def waits_for_ever():
        await asyncio.Event().wait()

    task = asyncio.create_task(waits_for_ever(), name="stuck")
    await asyncio.sleep(0)
    text = await inner()
    task.cancel()

    assert "MainThread" in text
    assert text.index("inner(") < text.index("test_stacks_show_threads_and_tasks_innermost_frame_first(")
    assert any(line.startswith("stuck") and "waits_for_ever(" in line for line in text.splitlines())
