"""Messages for a given time where another broker of the group is elected."""

from __future__ import annotations

from pathlib import Path

from elected.scene import Scene
from mqframe_testing.simulation import Simulation

from mqframe.core.requests.messages import SendMessageV2


async def timed(scene: Scene, address: str, body: bytes, seconds: int) -> None:
    request = SendMessageV2(
        topic="t", producer_group="p", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0,
        sys_flag=0, born_timestamp=0, flag=0, properties=f"TIMER_DELAY_SEC\x01{seconds}\x02",
    )  # fmt: skip
    answer = await scene.client.invoke(address, request, body, timeout=30)
    assert answer.code == 0, answer.remark


async def test_what_the_former_leader_delivered_is_not_delivered_again_and_the_rest_once(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation, count=3) as scene:
        await scene.start("one", "two", "three")
        leader = await scene.leader()
        await scene.clock.sleep(3)
        await scene.sent(leader, b"at once")
        for seconds in (5, 8, 20, 90):
            await timed(scene, leader.address, b"after %d" % seconds, seconds)
        await scene.clock.sleep(40)
        delivered = [b"at once", b"after 5", b"after 8", b"after 20"]
        assert await scene.bodies(leader) == delivered
        await scene.kill(leader.name)
        promoted = await scene.leader()
        await scene.clock.sleep(20)
        assert await scene.bodies(promoted) == delivered
        await scene.clock.sleep(60)
        assert await scene.bodies(promoted) == [*delivered, b"after 90"]
