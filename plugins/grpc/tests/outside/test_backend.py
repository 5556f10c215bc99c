from __future__ import annotations

import pytest
from doors import ENDPOINTS, DoorScene, message
from mqframe_admin.requests import DeleteTopicInBroker
from mqframe_grpc.outside.backend import OutsideBackend
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.sends import queue_of

GROUP = "billing"


def backend(scene: DoorScene) -> OutsideBackend:
    assert scene.running is not None
    return scene.running


async def test_a_message_group_has_its_queue_among_those_of_all_brokers() -> None:
    async with DoorScene(2, outside=True, topics={"orders": 3}, types={"orders": "FIFO"}) as scene:
        queues = [(broker, queue) for broker in (0, 1) for queue in range(3)]
        for number in range(20):
            name = f"customer {number}"
            await scene.send_one(message("orders", name.encode(), message_group=name))
            broker, queue = queues[queue_of(name, 6)]
            assert name.encode() in scene.bodies("orders", queue, broker=broker)


async def test_a_queue_that_takes_no_messages() -> None:
    async with DoorScene(outside=True) as scene:
        await scene.cluster.create_topic("orders", 2, perm=4)
        asked = m.SendMessageRequest(messages=[message("orders", b"x")])
        [answer] = await scene.call("SendMessage", asked)
        assert answer.status.code == m.Code.FORBIDDEN
        assert "no writable queue" in answer.status.message


async def test_a_topic_that_is_deleted_is_gone_soon() -> None:
    async with DoorScene(outside=True, topics={"orders": 2}) as scene:
        await scene.send_one(message("orders", b"x"))
        await scene.client.ok(DeleteTopicInBroker(topic="orders"))
        await scene.pass_time(20.0)
        # The name server has not been told.
        [answer] = await scene.call("SendMessage", m.SendMessageRequest(messages=[message("orders", b"y")]))
        assert answer.status.code == m.Code.TOPIC_NOT_FOUND


async def test_a_change_of_a_group_is_known_soon() -> None:
    async with DoorScene(2, outside=True, topics={"orders": 2}) as scene:
        found = await scene.finish(backend(scene).group(GROUP))
        assert found is None or not found.consume_message_orderly
        await scene.create_group(GROUP, ordered=True)
        await scene.pass_time(20.0)
        found = await scene.finish(backend(scene).group(GROUP))
        assert found is not None
        assert found.consume_message_orderly


async def test_a_group_that_only_one_broker_has() -> None:
    async with DoorScene(2, outside=True, topics={"orders": 2}) as scene:
        await scene.create_group(GROUP, retries=3)
        await scene.cluster.kill_broker(0)
        found = await scene.finish(backend(scene).group(GROUP))
        assert found is not None
        assert found.retry_max_times == 3
        await scene.cluster.kill_broker(1)
        with pytest.raises(Rejected) as raised:
            await scene.finish(backend(scene).group("another"))
        assert raised.value.code == m.Code.INTERNAL_SERVER_ERROR


async def test_name_servers_that_come_later() -> None:
    async with DoorScene(outside=True, topics={"orders": 2}) as scene:
        await scene.close_door()
        await scene.cluster.name_server.stop()
        await scene.open_door()
        assert (backend(scene).masters.is_known, backend(scene).brokers) == (False, ())
        asked = m.QueryRouteRequest(topic=m.Resource(name="orders"), endpoints=ENDPOINTS)
        [answer] = await scene.call("QueryRoute", asked)
        assert answer.status.code == m.Code.INTERNAL_SERVER_ERROR
        assert "no name server answered" in answer.status.message
        await scene.cluster.restart_name_server()
        await scene.cluster.broker.register()
        await scene.pass_time(20.0)
        assert (backend(scene).masters.is_known, backend(scene).brokers) == (True, ("broker-a",))
        await scene.send_one(message("orders", b"x"))


async def test_routes_are_used_while_no_name_server_answers() -> None:
    async with DoorScene(outside=True, topics={"orders": 2}) as scene:
        await scene.send_one(message("orders", b"x"))
        await scene.cluster.name_server.stop()
        await scene.pass_time(30.0)
        await scene.send_one(message("orders", b"y"))
        assert not backend(scene).masters.is_known
        await scene.cluster.restart_name_server()


async def test_a_master_with_another_address() -> None:
    async with DoorScene(outside=True, topics={"orders": 2}) as scene:
        await scene.send_one(message("orders", b"x"))
        [got] = await scene.receive("orders", GROUP)
        await scene.cluster.stop_broker()
        scene.cluster._settings[0] = scene.cluster._settings[0].__class__(
            name="broker-a", port=0, nameservers=(scene.nameserver,)
        )
        scene.cluster.brokers[0] = scene.cluster._make(0)
        await scene.cluster.brokers[0].start()
        scene.cluster.running[0] = True
        [result] = await scene.acknowledge(GROUP, got)
        assert result.status.code == m.Code.OK
        await scene.send_one(message("orders", b"y"))
