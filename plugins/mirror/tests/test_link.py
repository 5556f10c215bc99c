"""A queue of the target knows from where on lies what may be under way."""

from __future__ import annotations

from mirror_scenes import MirrorScene
from mqframe_mirror import Mirror
from mqframe_mirror.link import TargetQueue

from mqframe import MessageQueue

PLACE = MessageQueue("orders", "broker-a", 0)
ONE, OTHER = MessageQueue("orders", "broker-a", 0), MessageQueue("orders", "broker-b", 0)


def test_the_floor_is_the_end_when_nothing_is_under_way() -> None:
    queue = TargetQueue(PLACE, 10)
    assert queue.floor == queue.floor_of(ONE) == 10
    queue.sent(ONE, 14)
    assert queue.floor == 14


def test_the_floor_stays_with_what_left_first() -> None:
    queue = TargetQueue(PLACE, 10)
    queue.sending(ONE)
    queue.sent(OTHER, 20)
    queue.sending(OTHER)
    assert (queue.floor, queue.floor_of(ONE), queue.floor_of(OTHER)) == (10, 10, 20)
    queue.sending(ONE)  # again, since nobody answered
    queue.sent(OTHER, 15)
    assert (queue.floor, queue.end) == (10, 20)
    queue.sent(ONE)
    assert queue.floor == 20


async def test_each_broker_lets_so_many_in_at_once() -> None:
    async with MirrorScene() as scene:
        mirror = Mirror(scene.settings(queues_at_once=1), clock=scene.clock)
        gate = mirror.link.gate("broker-a")
        await gate.acquire()
        assert mirror.link.gate("broker-a").locked()
        assert not mirror.link.gate("broker-b").locked()
        await scene.finish(mirror.stop())


async def test_a_link_is_named_by_its_sides() -> None:
    async with MirrorScene() as scene:
        mirror = Mirror(scene.settings(back=True), clock=scene.clock)
        assert mirror.link.group == "mirror-berlin-tokyo"
        await scene.finish(mirror.stop())
