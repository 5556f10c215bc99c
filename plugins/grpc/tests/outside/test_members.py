from __future__ import annotations

from typing import Any

import pytest
from doors import DoorScene, consumer_settings, message, producer_settings, receive_request
from mqframe_admin.bodies import ConsumerConnection
from mqframe_admin.requests import GetConsumerConnectionList
from mqframe_grpc.outside.members import GROUPS_MAX, SILENT_SECONDS
from mqframe_grpc.proto import messages as m

from mqframe.core.cluster.client_bodies import ConsumerList
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.running_info import ConsumerRunningInfo, DirectOutcome, DirectResult
from mqframe.core.requests.consumers import GetConsumerListByGroup
from mqframe.core.requests.insight import ConsumeMessageDirectly, GetConsumerRunningInfo
from mqframe.core.wire.loose_json import decode

GROUP = "billing"
TOPICS = {"orders": 2, "parcels": 2}


async def members(scene: DoorScene, group: str = GROUP) -> list[list[str]]:
    """The members of `group`, broker by broker."""
    found = []
    for broker in range(len(scene.cluster.brokers)):
        client = scene.connect(broker)
        answer = await scene.finish(client.invoke(GetConsumerListByGroup(consumer_group=group)))
        listed = decode(memoryview(answer.body), ConsumerList).consumer_id_list if not answer.code else []
        found.append(list(listed))
        await scene.disconnect(client)
    return found


async def wanted(scene: DoorScene) -> dict[str, str | None]:
    """What the group wants of each topic, as broker-a knows."""
    answer = await scene.finish(scene.client.ok(GetConsumerConnectionList(consumer_group=GROUP)))
    table = decode(memoryview(answer.body), ConsumerConnection).subscription_table
    return {topic: each.sub_string for topic, each in table.items() if not topic.startswith("%RETRY%")}


def own_id(scene: DoorScene) -> str:
    assert scene.running is not None
    return scene.running._instance.client_id


async def test_a_group_has_one_member_at_all_brokers_while_it_has_clients() -> None:
    async with DoorScene(2, outside=True, topics=TOPICS) as scene:
        first = await scene.join("a@1", consumer_settings(GROUP, "orders"))
        second = await scene.join("a@2", consumer_settings(GROUP, "orders"))
        await scene.settle()
        assert await members(scene) == [[own_id(scene)], [own_id(scene)]]
        await scene.leave("a@1", first, GROUP)
        await scene.settle()
        assert await members(scene) == [[own_id(scene)], [own_id(scene)]]
        await scene.leave("a@2", second, GROUP)
        await scene.settle()
        assert await members(scene) == [[], []]


async def test_a_group_wants_what_any_of_its_clients_wants() -> None:
    async with DoorScene(outside=True, topics=TOPICS) as scene:
        stream = await scene.join("a@1", consumer_settings(GROUP, "orders"))
        await scene.settle()
        assert await wanted(scene) == {"orders": "*"}
        settings = consumer_settings(GROUP, "orders", "parcels")
        settings.subscription.subscriptions[0].expression.expression = "red"
        await scene.pass_time(1.0)
        stream.tell(m.TelemetryCommand(settings=settings))
        await scene.settle()
        assert await wanted(scene) == {"orders": "red", "parcels": "*"}
        # A client of which no more is known than that it lives changes nothing.
        beat = m.HeartbeatRequest(client_type=m.ClientType.SIMPLE_CONSUMER, group=m.Resource(name=GROUP))
        [answer] = await scene.call("Heartbeat", beat, "a@2")
        assert answer.status.code == m.Code.OK
        await scene.pass_time(30.0)
        assert await wanted(scene) == {"orders": "red", "parcels": "*"}


async def test_a_client_that_turns_to_another_group_leaves_the_first() -> None:
    async with DoorScene(outside=True, topics=TOPICS) as scene:
        stream = await scene.join("a@1", consumer_settings(GROUP, "orders"))
        await scene.settle()
        stream.tell(m.TelemetryCommand(settings=consumer_settings("shop", "orders")))
        await scene.settle()
        assert (await members(scene), await members(scene, "shop")) == ([[]], [[own_id(scene)]])


async def test_a_broker_that_comes_back_is_told_again() -> None:
    async with DoorScene(2, outside=True, topics=TOPICS) as scene:
        stream = await scene.join("a@1", consumer_settings(GROUP, "orders"))
        await scene.settle()
        await scene.cluster.restart_broker(1)
        assert await members(scene) == [[own_id(scene)], []]
        await scene.call("ReceiveMessage", receive_request("orders", GROUP, broker="broker-b"), "a@1", 8.0)
        assert await members(scene) == [[own_id(scene)], [own_id(scene)]]
        await scene.cluster.restart_broker(1)
        await scene.pass_time(25.0)
        assert await members(scene) == [[own_id(scene)], [own_id(scene)]]
        await scene.leave("a@1", stream, GROUP)


async def test_a_door_that_stops_leaves_all_groups() -> None:
    async with DoorScene(2, outside=True, topics=TOPICS) as scene:
        await scene.join("a@1", consumer_settings(GROUP, "orders"))
        await scene.settle()
        await scene.close_door()
        assert await members(scene) == [[], []]
        await scene.open_door()


async def test_what_a_silent_client_works_on_goes_to_others() -> None:
    async with DoorScene(outside=True, topics=TOPICS) as scene:
        kind = m.ClientType.PUSH_CONSUMER
        await scene.join("a@1", consumer_settings(GROUP, "orders", kind=kind))
        await scene.send_one(message("orders", b"o-1"))
        [got] = await scene.receive("orders", GROUP, "a@1", auto_renew=True)
        assert got.body == b"o-1"
        await scene.pass_time(SILENT_SECONDS - 10)
        assert await scene.receive("orders", GROUP, "a@2") == []
        assert await members(scene) == [[own_id(scene)]]
        await scene.pass_time(20.0)
        [again] = await scene.receive("orders", GROUP, "a@2")
        assert again.body == b"o-1"


async def test_a_client_that_waits_is_not_silent() -> None:
    async with DoorScene(outside=True, topics=TOPICS) as scene:
        await scene.join("a@1", consumer_settings(GROUP, "orders"))
        for _ in range(8):
            assert await scene.receive("orders", GROUP, "a@1", seconds=20) == []
        assert await members(scene) == [[own_id(scene)]]


async def test_operators_ask_the_clients_in_turn() -> None:
    async with DoorScene(outside=True, topics=TOPICS) as scene:
        await scene.send_one(message("orders", b"o-1"))
        [stored] = scene.stored("orders")
        streams = [await scene.join(name, consumer_settings(GROUP, "orders")) for name in ("a@1", "a@2")]
        await scene.settle()
        asked: Any = GetConsumerRunningInfo(consumer_group=GROUP, client_id=own_id(scene))
        frame = await scene.finish(scene.client.invoke(asked))
        info = decode(memoryview(frame.body), ConsumerRunningInfo)
        assert [each.topic for each in info.subscription_set] == ["orders"]
        answered = set()
        for _ in streams:
            asked = ConsumeMessageDirectly(
                consumer_group=GROUP, client_id=own_id(scene), msg_id=stored.offset_message_id
            )
            waiting = scene.client.invoke(asked)
            await scene.until(lambda: any(stream.commands for stream in streams))
            stream = next(stream for stream in streams if stream.commands)
            answered.add(id(stream))
            command = stream.commands[0].verify_message_command
            assert command.message.body == b"o-1"
            result = m.VerifyMessageResult(nonce=command.nonce)
            ok = m.Status(code=m.Code.OK)
            stream.tell(m.TelemetryCommand(status=ok, verify_message_result=result))
            found = decode(memoryview((await scene.finish(waiting)).body), DirectResult)
            assert found.consume_result is DirectOutcome.SUCCESS
            stream.answers.clear()
        assert len(answered) == 2


@pytest.mark.parametrize("joined", [True, False])
async def test_operators_get_words_where_no_client_answers(joined: bool) -> None:
    async with DoorScene(outside=True, topics=TOPICS) as scene:
        stream = await scene.join("a@1", consumer_settings(GROUP, "orders"))
        await scene.settle()
        if not joined:
            stream.close()
            await scene.finish(stream.task)
        asked = GetConsumerRunningInfo(consumer_group=GROUP, client_id=own_id(scene), jstack_enable=True)
        answer = await scene.finish(scene.client.invoke(asked))
        if joined:
            assert answer.code == ResponseCode.SYSTEM_BUSY
            assert "client a@1 did not answer within 5 s" in (answer.remark or "")
        else:
            assert answer.code == ResponseCode.CONSUMER_NOT_ONLINE
            assert f"no client of group {GROUP} can be asked" in (answer.remark or "")


async def test_many_groups_go_in_several_heartbeats() -> None:
    topics = [f"topic-{number}" for number in range(2 * GROUPS_MAX + 1)]
    async with DoorScene(outside=True, topics=TOPICS) as scene:
        await scene.join("a@1", producer_settings(*topics))
        await scene.settle()
        producers = scene.cluster.broker.service_port.clients.producers
        assert set(topics) <= set(producers)
        assert scene.running is not None
        assert len(scene.running.members._bodies(topics, [])) == 3
