from __future__ import annotations

import pytest
from doors import DoorScene, consumer_settings, message
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.handles import DoorHandle

TOPICS = {"orders": 1}
PUSH = m.ClientType.PUSH_CONSUMER


async def working(scene: DoorScene, minutes: float) -> m.Message:
    """A message in work at a@1 for so long, whose member beats."""
    await scene.join("a@1", consumer_settings("billing", "orders", kind=PUSH))
    await scene.send_one(message("orders", b"1"), "p@1")
    [found] = await scene.receive("orders", "billing", "a@1", auto_renew=True)
    for _ in range(round(minutes * 6)):
        await scene.pass_time(10.0)
        await scene.call("Heartbeat", m.HeartbeatRequest(), "a@1")
    return found


async def test_the_first_handle_acknowledges_what_was_renewed() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        found = await working(scene, 5)
        assert len(scene.door.renewing.renewals) == 1
        [result] = await scene.acknowledge("billing", found, client="a@1")
        assert result.status.code == m.Code.OK
        assert len(scene.door.renewing.renewals) == 0
        await scene.pass_time(120.0)
        assert await scene.receive("orders", "billing", "b@1") == []


async def test_a_change_of_the_time_ends_the_renewal() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        found = await working(scene, 2)
        said = found.system_properties
        asked = m.ChangeInvisibleDurationRequest(
            group=m.Resource(name="billing"),
            topic=found.topic,
            receipt_handle=said.receipt_handle,
            invisible_duration=m.Duration(seconds=5),
            message_id=said.message_id,
        )
        [answer] = await scene.call("ChangeInvisibleDuration", asked, "a@1")
        assert answer.status.code == m.Code.OK
        assert len(scene.door.renewing.renewals) == 0
        [again] = await scene.receive("orders", "billing", "b@1", seconds=20.0)
        assert again.system_properties.delivery_attempt == 2


async def test_what_is_in_work_for_too_long_goes_to_others() -> None:
    options = GrpcOptions(renew_max_ms=150_000)
    async with DoorScene(topics=TOPICS, options=options) as scene:
        await working(scene, 4)
        assert len(scene.door.renewing.renewals) == 0
        [again] = await scene.receive("orders", "billing", "b@1", seconds=20.0)
        assert again.system_properties.delivery_attempt == 2


async def test_the_messages_of_a_member_that_fell_silent_go_to_others() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        await working(scene, 1)
        await scene.pass_time(150.0)
        assert len(scene.door.renewing.renewals) == 0
        [again] = await scene.receive("orders", "billing", "b@1", seconds=20.0)
        assert again.body == b"1"


async def test_what_a_busy_broker_refuses_goes_on_being_renewed() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        found = await working(scene, 1)
        said = found.system_properties
        renewing = scene.door.renewing
        client = scene.door.clients.known({"x-mq-client-id": "a@1"})
        assert client is not None

        async def busy(handle: DoorHandle) -> None:
            raise Rejected(m.Code.TOO_MANY_REQUESTS, "busy")

        handle = DoorHandle.parse(said.receipt_handle)
        with pytest.raises(Rejected):
            await renewing.use_newest(client, "billing", "orders", said.message_id, handle, busy)
        assert len(renewing.renewals) == 1
        [result] = await scene.acknowledge("billing", found, client="a@1")
        assert result.status.code == m.Code.OK
