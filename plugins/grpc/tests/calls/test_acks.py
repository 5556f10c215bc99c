from __future__ import annotations

import pytest
from doors import DoorScene, message
from mqframe_grpc.proto import messages as m

TOPICS = {"orders": 1}


def change(found: m.Message, seconds: float, handle: str | None = None) -> m.ChangeInvisibleDurationRequest:
    whole = int(seconds)
    return m.ChangeInvisibleDurationRequest(
        group=m.Resource(name="billing"),
        topic=found.topic,
        receipt_handle=handle or found.system_properties.receipt_handle,
        invisible_duration=m.Duration(seconds=whole, nanos=int((seconds - whole) * 1e9)),
        message_id=found.system_properties.message_id,
    )


async def received(scene: DoorScene, *bodies: bytes) -> list[m.Message]:
    for body in bodies:
        await scene.send_one(message("orders", body))
    return await scene.receive("orders", "billing")


async def test_acknowledged_messages_do_not_come_again() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        found = await received(scene, b"1", b"2", b"3")
        results = await scene.acknowledge("billing", *found[:2])
        assert [(each.message_id, each.receipt_handle, each.status.code) for each in results] == [
            (each.system_properties.message_id, each.system_properties.receipt_handle, m.Code.OK)
            for each in found[:2]
        ]
        await scene.pass_time(31.0)
        assert [each.body for each in await scene.receive("orders", "billing")] == [b"3"]


async def test_one_wrong_handle_of_several() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        found = await received(scene, b"1", b"2")
        found[0].system_properties.receipt_handle = "rubbish"
        entries = [
            m.AckMessageEntry(
                message_id=each.system_properties.message_id,
                receipt_handle=each.system_properties.receipt_handle,
            )
            for each in found
        ]
        asked = m.AckMessageRequest(
            group=m.Resource(name="billing"), topic=m.Resource(name="orders"), entries=entries
        )
        [answer] = await scene.call("AckMessage", asked)
        assert answer.status.code == m.Code.MULTIPLE_RESULTS
        assert [each.status.code for each in answer.entries] == [m.Code.INVALID_RECEIPT_HANDLE, m.Code.OK]


async def test_no_entries() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        asked = m.AckMessageRequest(group=m.Resource(name="billing"), topic=m.Resource(name="orders"))
        [answer] = await scene.call("AckMessage", asked)
        assert answer.status.code == m.Code.INTERNAL_SERVER_ERROR


async def test_a_handle_whose_time_is_over() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        found = await received(scene, b"1")
        await scene.pass_time(31.0)
        [result] = await scene.acknowledge("billing", *found)
        assert result.status.code == m.Code.INVALID_RECEIPT_HANDLE


@pytest.mark.parametrize("broker", ["another", "broker-b"])
async def test_a_handle_of_another_broker(broker: str) -> None:
    async with DoorScene(topics=TOPICS) as scene:
        [found] = await received(scene, b"1")
        said = found.system_properties
        said.receipt_handle = said.receipt_handle.replace("broker-a", broker)
        [result] = await scene.acknowledge("billing", found)
        assert result.status.code == m.Code.INVALID_RECEIPT_HANDLE


async def test_a_changed_time_counts_and_makes_another_handle() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        [found] = await received(scene, b"1")
        [answer] = await scene.call("ChangeInvisibleDuration", change(found, 300))
        assert (answer.status.code, len(answer.receipt_handle.split(" "))) == (m.Code.OK, 9)
        assert answer.receipt_handle.split(" ")[-1] == found.system_properties.receipt_handle.split(" ")[-1]
        await scene.pass_time(200.0)
        assert await scene.receive("orders", "billing") == []
        [old] = await scene.acknowledge("billing", found)
        assert old.status.code == m.Code.INVALID_RECEIPT_HANDLE
        found.system_properties.receipt_handle = answer.receipt_handle
        [new] = await scene.acknowledge("billing", found)
        assert new.status.code == m.Code.OK


async def test_no_time_at_all_makes_a_message_visible_at_once() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        [found] = await received(scene, b"1")
        [answer] = await scene.call("ChangeInvisibleDuration", change(found, 0))
        assert answer.status.code == m.Code.OK
        [again] = await scene.receive("orders", "billing", seconds=5.0)
        assert again.system_properties.delivery_attempt == 2


@pytest.mark.parametrize("seconds", [-1, 12 * 3600 + 1])
async def test_times_that_cannot_be(seconds: int) -> None:
    async with DoorScene(topics=TOPICS) as scene:
        [found] = await received(scene, b"1")
        [answer] = await scene.call("ChangeInvisibleDuration", change(found, seconds))
        assert answer.status.code == m.Code.ILLEGAL_INVISIBLE_TIME


async def test_dead_letters_keep_what_they_were() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        [found] = await received(scene, b"1")
        asked = m.ForwardMessageToDeadLetterQueueRequest(
            group=m.Resource(name="billing"),
            topic=found.topic,
            receipt_handle=found.system_properties.receipt_handle,
            message_id=found.system_properties.message_id,
        )
        [answer] = await scene.call("ForwardMessageToDeadLetterQueue", asked)
        assert answer.status.code == m.Code.OK
        await scene.pass_time(31.0)
        assert await scene.receive("orders", "billing") == []
        [dead] = await scene.receive("%DLQ%billing", "undertakers")
        origin = dead.system_properties.dead_letter_queue
        assert (dead.body, origin.topic) == (b"1", "orders")
        assert dead.system_properties.message_id == found.system_properties.message_id
