from __future__ import annotations

import pytest
from doors import DoorScene, message
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.handles import DoorHandle

TOPICS = {"orders": 1}


async def delivered(scene: DoorScene) -> DoorHandle:
    await scene.send_one(message("orders", b"1"))
    [found] = await scene.receive("orders", "billing")
    return DoorHandle.parse(found.system_properties.receipt_handle)


async def test_what_is_hidden_anew_has_a_new_handle_for_the_same_record() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        old = await delivered(scene)
        deliveries, own = scene.door.renewing.deliveries, scene.door.clients.own()
        new = await scene.finish(deliveries.hide(own, "billing", "orders", old, 60_000))
        assert (new.log_offset, new.handle.offset) == (old.log_offset, old.handle.offset)
        assert 59_000 < new.handle.visible_at - scene.clock.now_ms() <= 60_000
        with pytest.raises(Rejected) as raised:
            await scene.finish(deliveries.acknowledge(own, "billing", "orders", old))
        assert raised.value.code is m.Code.INVALID_RECEIPT_HANDLE
        await scene.finish(deliveries.acknowledge(own, "billing", "orders", new))


async def test_a_handle_without_a_record_makes_no_dead_letter() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        handle = (await delivered(scene))._replace(log_offset=-1)
        deliveries, own = scene.door.renewing.deliveries, scene.door.clients.own()
        with pytest.raises(Rejected) as raised:
            await scene.finish(deliveries.bury(own, "billing", "orders", handle, "id"))
        assert raised.value.code is m.Code.INVALID_RECEIPT_HANDLE
