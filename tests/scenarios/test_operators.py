"""Operators move groups and look into members that run, on a clock that only the tests move."""

from __future__ import annotations

import pytest
from operators import GROUP, QUEUES, OperatorScene

from mqframe import (
    ConsumerSettings,
)

BOTH_WAYS = pytest.mark.parametrize("server_side", [True, False])


@BOTH_WAYS
async def test_all_members_of_a_broadcasting_group_are_reset(server_side, tmp_path):
    async with OperatorScene(broker={"server_side_reset": server_side}) as scene:
        for name in ("m1", "m2"):
            settings = ConsumerSettings(offset_directory=tmp_path / name)
            await scene.join(name=name, broadcasting=True, settings=settings)
        await scene.send(b"0", b"1")
        await scene.until(lambda: len(scene.got) == 4)
        assert await scene.admin.offsets.reset_queue(GROUP, QUEUES[0], 1) == 1
        await scene.until(lambda: len(scene.got) == 6)
        assert scene.got[4:] == [b"1", b"1"]
        await scene.clock.aadvance(6)
        found = await scene.admin.members.remembered_offsets(GROUP, "orders")
        assert [offsets[QUEUES[0]] for offsets in found.values()] == [2, 2]


async def test_ordered_members_are_reset_and_say_that_they_are_ordered():
    async with OperatorScene() as scene:
        member = await scene.join(ordered=True)
        await scene.send(b"0", b"1", b"2")
        await scene.until(lambda: len(scene.got) == 3)
        await scene.clock.aadvance(6)
        info = await scene.admin.members.running_info(GROUP, member.client_id)
        assert info.properties["PROP_CONSUMEORDERLY"] == "true"
        held = info.queues[QUEUES[0]]
        assert (held.locked, held.commit_offset) == (True, 3)
        assert 0 <= scene.clock.now_ms() - held.last_lock_timestamp < 60_000
        assert info.status_table["orders"].consume_ok_tps > 0
        await scene.admin.offsets.reset_queue(GROUP, QUEUES[0], 1)
        await scene.until(lambda: len(scene.got) == 5)
        assert scene.got == [b"0", b"1", b"2", b"1", b"2"]
