"""Messages with a priority from our producers to consumers that pop, over a broker with the service."""

from __future__ import annotations

from mqframe_pop.settings import PopSettings
from mqframe_priority import priority_of, with_priority
from mqframe_priority.settings import PrioritySettings
from simple_scenes import GROUP, SimpleScene, bodies

from mqframe import AsyncAdmin, Message
from mqframe.core.consuming.group_config import SubscriptionGroupConfig


class RankedScene(SimpleScene):
    """Topic `jobs`, of type PRIORITY, has four queues."""

    def __init__(self, **settings) -> None:
        sections = [PrioritySettings(**settings), PopSettings(retry_percent=100)]
        super().__init__(broker={"services": ("priority",)}, sections=sections)

    async def start(self) -> None:
        await super().start()
        async with AsyncAdmin(nameserver=self.nameserver, clock=self.clock) as admin:
            made = admin.topics.create("jobs", queues=4, attributes={"message.type": "PRIORITY"})
            await self.finish(made)

    async def put(self, *priorities: int, name: str = "") -> None:
        for priority in priorities:
            message = Message("jobs", b"%s%d" % (name.encode(), priority))
            await self.finish(self.producer.send(with_priority(message, priority)))


async def test_the_most_urgent_come_first_and_equals_as_they_were_sent() -> None:
    async with RankedScene() as scene:
        await scene.put(0, 1, 3, 2, 9, 0, 3)
        consumer = await scene.join("jobs")
        got = await scene.receive(consumer, 7)
        assert bodies(got) == [b"3", b"9", b"3", b"2", b"1", b"0", b"0"]
        assert [message.queue_id for message in got] == [3, 3, 3, 2, 1, 0, 0]
        assert [priority_of(message) for message in got] == [3, 9, 3, 2, 1, 0, 0]


async def test_what_comes_later_overtakes_what_waits() -> None:
    async with RankedScene() as scene:
        await scene.put(0, 0, 0, 0)
        consumer = await scene.join("jobs")
        (first,) = await scene.receive(consumer, 1)
        await scene.put(2, 1)
        later = [await scene.receive(consumer, 1) for _ in range(3)]
        assert bodies([first, *(message for (message,) in later)]) == [b"0", b"2", b"1", b"0"]


async def test_what_comes_again_waits_for_all_that_is_new_however_retries_are_mixed_in_elsewhere() -> None:
    async with RankedScene() as scene:
        await scene.put(3)
        consumer = await scene.join("jobs")
        (failed,) = await scene.receive(consumer, 1)
        await scene.finish(consumer.change_invisible_duration(failed, 1.0))
        await scene.pass_time(5.0)
        await scene.put(0, 2)
        got = await scene.receive(consumer, 3)
        assert [(message.body, message.reconsume_times) for message in got] == [
            (b"2", 0),
            (b"0", 0),
            (b"3", 1),
        ]


async def test_retries_come_first_where_the_settings_say_so() -> None:
    async with RankedScene(retry_percent=100) as scene:
        await scene.put(0)
        consumer = await scene.join("jobs")
        (failed,) = await scene.receive(consumer, 1)
        await scene.finish(consumer.change_invisible_duration(failed, 1.0))
        await scene.pass_time(5.0)
        await scene.put(3)
        got = await scene.receive(consumer, 2)
        assert [(message.body, message.reconsume_times) for message in got] == [(b"0", 1), (b"3", 0)]


async def test_zero_may_be_the_most_urgent() -> None:
    async with RankedScene(zero_is_lowest=False) as scene:
        await scene.put(2, 3, 0, 1)
        consumer = await scene.join("jobs")
        assert bodies(await scene.receive(consumer, 4)) == [b"0", b"1", b"2", b"3"]


async def test_a_delayed_message_has_none_when_it_comes() -> None:
    async with RankedScene() as scene:
        delayed = with_priority(Message("jobs", b"later"), 3)
        await scene.finish(scene.producer.send(delayed, delay=2.0))
        await scene.pass_time(5.0)
        consumer = await scene.join("jobs")
        (message,) = await scene.receive(consumer, 1)
        assert (message.body, priority_of(message)) == (b"later", None)


async def test_a_group_may_do_without() -> None:
    async with RankedScene() as scene:
        async with AsyncAdmin(nameserver=scene.nameserver, clock=scene.clock) as admin:
            config = SubscriptionGroupConfig(GROUP, attributes={"+priority.factor": "0"})
            await scene.finish(admin.groups.create(config))
        await scene.put(*[0, 1, 2, 3] * 25)
        consumer = await scene.join("jobs")
        seen = {(await scene.receive(consumer, 1))[0].queue_id for _ in range(40)}
        assert len(seen) > 1  # by rank all 25 of queue 3 would come first, then those of queue 2
        assert not seen <= {2, 3}
