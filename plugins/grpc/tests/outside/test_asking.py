from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from doors import DoorScene, message, receive_request
from mqframe_grpc.proto import messages as m
from mqframe_pop.requests import PopMessage

from mqframe.core.codes import ResponseCode
from mqframe.core.requests.admin import GetSubscriptionGroupConfig, GetTopicConfig
from mqframe.core.wire.frame import Frame

GROUP = "billing"


@asynccontextmanager
async def silence(address: str) -> AsyncIterator[None]:
    """Somebody who takes connections at `address`, and says nothing."""
    host, _, port = address.rpartition(":")
    open_ones: list[asyncio.StreamWriter] = []

    def arrived(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.append(writer)

    server = await asyncio.start_server(arrived, host, int(port))
    try:
        yield
    finally:
        server.close()
        for writer in open_ones:
            writer.close()
        await server.wait_closed()


def age(scene: DoorScene) -> None:
    """Let all brokers be of version 4.9, as far as the door asks them."""
    assert scene.running is not None
    remoting = scene.running._instance.remoting
    ask = remoting.invoke

    def invoke(address: str, request: Any, body: Any = b"", *, timeout: float = 3.0) -> Any:
        if isinstance(request, GetTopicConfig | GetSubscriptionGroupConfig | PopMessage):
            answer = asyncio.get_running_loop().create_future()
            remark = f" request type {request.CODE} not supported"
            answer.set_result(Frame(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=remark))
            return answer
        return ask(address, request, body, timeout=timeout)

    remoting.invoke = invoke  # type: ignore[method-assign]


async def sent(scene: DoorScene, made: m.Message) -> Any:
    """The status of a send."""
    [answer] = await scene.call("SendMessage", m.SendMessageRequest(messages=[made]))
    return answer.status


async def test_a_receive_that_is_given_up_keeps_no_messages() -> None:
    async with DoorScene(outside=True, topics={"orders": 4}) as scene:
        held = scene.begin("ReceiveMessage", receive_request("orders", GROUP, seconds=20), timeout=23.0)
        await scene.pass_time(1.0)
        held.cancel()
        await scene.settle()
        await scene.send_one(message("orders", b"o-1"))
        [got] = await scene.receive("orders", GROUP, "b@1", seconds=5)
        assert (got.body, got.system_properties.delivery_attempt) == (b"o-1", 2)
        assert held.answers == []


async def test_a_receive_in_order_that_is_given_up_holds_up_nobody() -> None:
    async with DoorScene(outside=True, topics={"orders": 1}, types={"orders": "FIFO"}) as scene:
        await scene.create_group(GROUP, ordered=True)
        held = scene.begin("ReceiveMessage", receive_request("orders", GROUP, seconds=20), timeout=23.0)
        await scene.pass_time(1.0)
        held.cancel()
        await scene.settle()
        for number in range(3):
            await scene.send_one(message("orders", b"%d" % number, message_group="g"))
        got = await scene.receive("orders", GROUP, "b@1", seconds=5)
        assert [each.body for each in got] == [b"0", b"1", b"2"]


async def test_a_receive_that_is_given_up_as_its_broker_ends() -> None:
    async with DoorScene(outside=True, topics={"orders": 4}) as scene:
        held = scene.begin("ReceiveMessage", receive_request("orders", GROUP, seconds=20), timeout=23.0)
        await scene.pass_time(1.0)
        held.cancel()
        await scene.settle()
        await scene.cluster.kill_broker()
        await scene.settle()


async def test_a_broker_that_does_not_answer_is_told_from_one_that_refuses() -> None:
    async with DoorScene(outside=True, topics={"orders": 4}) as scene:
        await scene.send_one(message("orders", b"o-1"))
        [got] = await scene.receive("orders", GROUP)
        address = scene.cluster.broker.address
        await scene.cluster.kill_broker()
        async with silence(address):
            status = await sent(scene, message("orders", b"o-2"))
            assert status.code == m.Code.PROXY_TIMEOUT
            assert "broker-a did not answer in time" in status.message
            [result] = await scene.acknowledge(GROUP, got)
            assert result.status.code == m.Code.PROXY_TIMEOUT
        status = await sent(scene, message("orders", b"o-2"))
        assert status.code == m.Code.INTERNAL_SERVER_ERROR
        assert "nothing was sent" in status.message


async def test_messages_without_a_group_go_past_a_broker_that_fails() -> None:
    async with DoorScene(2, outside=True, topics={"orders": 4}) as scene:
        await scene.send_one(message("orders", b"warm"))
        await scene.cluster.kill_broker(1)
        codes = [(await sent(scene, message("orders", b"x"))).code for _ in range(16)]
        assert codes.count(m.Code.OK) >= 15
        assert len(scene.stored("orders")) >= 15


async def test_those_of_a_group_wait_for_its_broker() -> None:
    async with DoorScene(2, outside=True, topics={"orders": 4}, types={"orders": "FIFO"}) as scene:
        names = [f"customer {number}" for number in range(8)]
        for name in names:
            await scene.send_one(message("orders", name.encode(), message_group=name))
        there = {body for queue in range(4) for body in scene.bodies("orders", queue, broker=0)}
        assert 0 < len(there) < 8
        await scene.cluster.kill_broker(1)
        for name in names:
            status = await sent(scene, message("orders", name.encode(), message_group=name))
            assert (status.code == m.Code.OK) is (name.encode() in there)
        await scene.cluster.start_broker(1)
        for name in names:
            await scene.send_one(message("orders", name.encode(), message_group=name))
        for broker in (0, 1):
            for queue in range(4):
                groups = scene.bodies("orders", queue, broker=broker)
                assert {groups.count(each) for each in groups} <= {2, 3}


async def test_what_was_received_is_acknowledged_while_its_broker_restarts() -> None:
    async with DoorScene(outside=True, topics={"orders": 4}) as scene:
        await scene.send_one(message("orders", b"o-1"))
        [got] = await scene.receive("orders", GROUP)
        await scene.cluster.stop_broker()
        handle = m.AckMessageEntry(
            message_id=got.system_properties.message_id, receipt_handle=got.system_properties.receipt_handle
        )
        request = m.AckMessageRequest(group=m.Resource(name=GROUP), topic=got.topic, entries=[handle])
        asked = scene.begin("AckMessage", request)
        await scene.pass_time(0.5)
        assert not asked.task.done()
        await scene.cluster.start_broker()
        [answer] = await scene.finish(asked.task)
        assert answer.status.code == m.Code.OK


async def test_brokers_before_5_take_messages_but_have_no_pops(caplog: pytest.LogCaptureFixture) -> None:
    async with DoorScene(outside=True, topics={"orders": 4}) as scene:
        age(scene)
        await scene.send_one(message("orders", b"plain"))
        await scene.send_one(message("orders", b"in order", message_group="g"))
        at = m.Timestamp(seconds=scene.clock.now_ms() // 1000 + 60)
        status = await sent(scene, message("orders", b"later", delivery_timestamp=at))
        assert status.code == m.Code.NOT_IMPLEMENTED
        assert "would deliver the message at once" in status.message
        asked = receive_request("orders", GROUP)
        [first, _] = await scene.call("ReceiveMessage", asked, timeout=8.0)
        assert first.status.code == m.Code.NOT_IMPLEMENTED
        assert "older than 5.0 and has no pops" in first.status.message
        assert sum("older than 5.0" in record.getMessage() for record in caplog.records) == 1
