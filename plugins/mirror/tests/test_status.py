"""How far a mirror is, is told by brokers."""

from __future__ import annotations

from mirror_scenes import MirrorScene
from mqframe_mirror.status import mirror_status


async def test_each_queue_says_what_is_left() -> None:
    async with MirrorScene({"orders": 2, "others": 1}) as scene:
        await scene.tokyo.send("orders", b"1", b"2", b"3")
        await scene.copy_once()
        await scene.tokyo.send("orders", b"4", b"5")
        await scene.pass_time(20)
        rows = await scene.finish(
            mirror_status(scene.settings(topics=["orders", "others"]), clock=scene.clock)
        )
        waited = rows[0].pop("seconds")
        assert waited >= 20
        assert rows == [
            {"topic": "orders", "queue": "broker-a/0", "committed": 3, "end": 5, "lag": 2},
            {"topic": "orders", "queue": "broker-a/1", "committed": 0, "end": 0, "lag": 0, "seconds": 0.0},
            {"topic": "others", "queue": "broker-a/0", "committed": None, "end": 0, "lag": 0, "seconds": 0.0},
        ]
