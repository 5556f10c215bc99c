from __future__ import annotations

import asyncio

import pytest
from doors import DoorScene, consumer_settings, producer_settings
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.status import GrpcError, GrpcStatus

TOPICS = {"orders": 4, "lines": 2}


def members(scene: DoorScene, group: str) -> list[str]:
    found = scene.cluster.broker.service_port.clients.consumers.get(group)
    return [] if found is None else found.client_ids


async def beat(scene: DoorScene, client: str, **fields: object) -> int:
    [answer] = await scene.call("Heartbeat", m.HeartbeatRequest(**fields), client)  # type: ignore[arg-type]
    return int(answer.status.code)


async def test_settings_are_answered_with_what_the_group_has() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        await scene.create_group("billing", ordered=True, retries=2)
        stream = await scene.join("a@1", consumer_settings("billing", "orders"))
        told = stream.answers[0]
        assert told.status.code == m.Code.OK
        assert told.settings.subscription.fifo
        assert told.settings.backoff_policy.max_attempts == 3
        assert told.settings.subscription.long_polling_timeout.seconds == 20


async def test_a_consumer_is_a_member_with_its_subscriptions_until_it_says_farewell() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        stream = await scene.join("a@1", consumer_settings("billing", "orders", "lines"))
        await scene.join("b@1", consumer_settings("billing", "orders", "lines"))
        assert members(scene, "billing") == ["a@1", "b@1"]
        group = scene.cluster.broker.service_port.clients.consumers["billing"]
        assert {name for name in group.subscriptions if name[0] != "%"} == {"orders", "lines"}
        await scene.leave("a@1", stream)
        assert members(scene, "billing") == ["b@1"]
        # Nothing is known of it any more.
        asked = m.NotifyClientTerminationRequest()
        [answer] = await scene.call("NotifyClientTermination", asked, "a@1")
        assert answer.status.code == m.Code.UNRECOGNIZED_CLIENT_TYPE


async def test_a_member_whose_heartbeats_stop_is_none() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        stream = await scene.join("a@1", consumer_settings("billing", "orders"))
        await scene.join("b@1", consumer_settings("billing", "orders"))
        for _ in range(16):
            await scene.pass_time(10.0)
            assert await beat(scene, "b@1") == m.Code.OK
        assert members(scene, "billing") == ["b@1"]
        # Its stream lives, and so do its settings: the next heartbeat makes it a member again.
        assert not stream.task.done()
        assert await beat(scene, "a@1") == m.Code.OK
        assert sorted(members(scene, "billing")) == ["a@1", "b@1"]


async def test_a_producer_is_a_member_of_groups_called_as_its_topics() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        await scene.join("p@1", producer_settings("orders", "lines"))
        producers = scene.cluster.broker.service_port.clients.producers
        assert {name: len(producers[name]) for name in ("orders", "lines")} == {"orders": 1, "lines": 1}


async def test_a_consumer_of_before_a_restart_stays_a_member() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        kind = m.ClientType.PUSH_CONSUMER
        group = m.Resource(name="billing")
        assert await beat(scene, "a@1", client_type=kind, group=group) == m.Code.OK
        assert members(scene, "billing") == ["a@1"]
        assert await beat(scene, "p@1", client_type=m.ClientType.PRODUCER) == m.Code.OK
        assert await beat(scene, "c@1") == m.Code.UNRECOGNIZED_CLIENT_TYPE


@pytest.mark.parametrize(
    "settings",
    [
        m.Settings(),
        producer_settings("no/topic"),
        consumer_settings("no/group", "orders"),
        consumer_settings("g", "no/topic"),
    ],
)
async def test_settings_that_cannot_be_end_the_stream(settings: m.Settings) -> None:
    async with DoorScene(topics=TOPICS) as scene:
        with pytest.raises(GrpcError) as raised:
            await scene.join("a@1", settings)
        assert raised.value.status is GrpcStatus.INVALID_ARGUMENT


@pytest.mark.parametrize("dropped", ["old", "new", "neither"])
async def test_the_newest_stream_that_is_open_gets_the_commands(dropped: str) -> None:
    async with DoorScene(topics=TOPICS) as scene:
        streams = {name: await scene.join("a@1", producer_settings("orders")) for name in ("old", "new")}
        if dropped in streams:
            streams[dropped].close()
            await scene.finish(streams[dropped].task)
        client = scene.door.clients.known({"x-mq-client-id": "a@1"})
        assert client is not None
        client.command(m.TelemetryCommand(reconnect_endpoints_command=m.ReconnectEndpointsCommand(nonce="n")))
        found = {
            name: [each.WhichOneof("command") for each in stream.commands] for name, stream in streams.items()
        }
        told = "old" if dropped == "new" else "new"
        assert found == {"old": [], "new": []} | {told: ["reconnect_endpoints_command"]}


async def test_nothing_is_kept_of_a_client_without_a_stream_and_a_membership() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        stream = await scene.join("a@1", producer_settings("orders"))
        await scene.pass_time(200.0)
        assert len(scene.door.clients) == 1
        stream.cancel()
        await asyncio.gather(stream.task, return_exceptions=True)
        await scene.pass_time(200.0)
        assert len(scene.door.clients) == 0
