"""Members join, leave, crash and stall while messages flow, at random from a seed, on a manual clock.

Checked of every group: each acknowledged message is consumed at least once, and is what was sent. Of an
ordered group besides: the first deliveries of a queue are in order and without gaps, whoever makes them, and
after a redelivery it goes on in order; while the broker keeps running, no two listeners are ever at one
queue.
"""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import pytest
from mqframe_testing import ClusterScene

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import Message, MessageQueue

TOPIC = "orders"
QUEUES = 4
STEPS = 60
MEMBERS_MAX = 4
STALL_SECONDS_MAX = 35.0
"""Less than what is left of a lock when its queue is dropped: nobody else may begin meanwhile."""


class Dead(Exception):
    """The process of a listener was killed."""


class Group:
    """What the members of one group were given."""

    def __init__(self, name: str, ordered: bool) -> None:
        self.name = name
        self.ordered = ordered
        self.members: list[Member] = []
        self.done: set[bytes] = set()
        self.bodies: dict[tuple[int, int], bytes] = {}
        self.deliveries: dict[int, list[tuple[str, int]]] = {number: [] for number in range(QUEUES)}
        self.at_work: dict[int, int] = dict.fromkeys(range(QUEUES), 0)
        self.overlaps: list[tuple[str, int]] = []


class Member:
    """One consumer in a process of its own, as far as the network can tell."""

    def __init__(self, world: World, group: Group, name: str) -> None:
        self.world = world
        self.group = group
        self.name = name
        self.dead = asyncio.Event()
        settings = ClientSettings(nameserver=world.nameserver, instance_name=name)
        self.instance = ClientInstance.connect(settings, world.clock)
        self.consumer = AsyncPushConsumer(
            group.name,
            clock=world.clock,
            instance=self.instance,
            consume_from="first",
            ordered=group.ordered,
            settings=ConsumerSettings(consume_message_batch_max_size=world.random.choice((1, 3, 8))),
        )
        self.consumer.subscribe(TOPIC, "*", self.take)

    async def take(self, messages, context):
        if self.dead.is_set():
            raise Dead
        group, chance = self.group, self.world.random
        number = messages[0].queue_id
        if context.queue.topic == TOPIC:
            group.deliveries[number] += [(self.name, m.queue_offset) for m in messages]
            group.bodies.update({(number, m.queue_offset): m.body for m in messages})
        group.at_work[number] += 1
        if group.at_work[number] > 1:
            group.overlaps.append((self.name, number))
        try:
            if chance.random() < 0.08:
                await self.stall(chance.uniform(1.0, STALL_SECONDS_MAX))
            if chance.random() < 0.05:
                return ConsumeResult.RECONSUME_LATER
        finally:
            group.at_work[number] -= 1
        group.done.update(m.body for m in messages)
        return ConsumeResult.SUCCESS

    async def stall(self, seconds: float) -> None:
        asleep = asyncio.ensure_future(self.world.clock.sleep(seconds))
        dying = asyncio.ensure_future(self.dead.wait())
        await asyncio.wait({asleep, dying}, return_when=asyncio.FIRST_COMPLETED)
        for task in (asleep, dying):
            task.cancel()
        await asyncio.gather(asleep, dying, return_exceptions=True)
        if self.dead.is_set():
            raise Dead


class World(ClusterScene):
    def __init__(self, seed: int) -> None:
        super().__init__(topics={TOPIC: QUEUES})
        self.random = random.Random(seed)
        self.groups = [Group("ordered", True), Group("concurrent", False)]
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        self.sent = 0
        self.names = 0
        self.restarts = 0

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))
        for group in self.groups:
            await self.join(group)

    async def stop(self) -> None:
        for group in self.groups:
            for member in tuple(group.members):
                await self.leave(member)
        await super().stop()

    async def send_some(self) -> None:
        for _ in range(self.random.randrange(1, 25)):
            number, body = self.random.randrange(QUEUES), b"%d" % self.sent
            self.sent += 1
            queue = MessageQueue(TOPIC, "broker-a", number)
            try:
                sent = await self.finish(self.producer.send(Message(TOPIC, body), queue=queue))
            except MqframeError:
                continue  # it may have been stored or not
            self.acknowledged[number, sent.queue_offset] = body

    async def join(self, group: Group) -> None:
        self.names += 1
        member = Member(self, group, f"m{self.names}")
        await member.instance.start()
        try:
            await self.finish(member.consumer.start())
        except MqframeError:
            await self.finish(member.instance.stop())
        else:
            group.members.append(member)

    async def leave(self, member: Member) -> None:
        member.group.members.remove(member)
        await self.finish(member.consumer.stop())
        await self.finish(member.instance.stop())

    async def crash(self, member: Member) -> None:
        await member.instance.remoting.close()
        member.dead.set()
        await self.leave(member)

    async def restart(self) -> None:
        self.restarts += 1
        if self.random.random() < 0.5:
            await self.cluster.kill_broker()
        else:
            await self.cluster.stop_broker()
        await self.clock.aadvance(self.random.uniform(0.0, 15.0))
        await self.cluster.start_broker()

    async def step(self, restarts: bool) -> None:
        group = self.random.choice(self.groups)
        event = self.random.choice(["send", "send", "join", "leave", "crash", "wait"])
        if restarts and self.random.random() < 0.06:
            await self.restart()
        elif event == "send":
            await self.send_some()
        elif event == "join" and len(group.members) < MEMBERS_MAX:
            await self.join(group)
        elif event == "leave" and group.members:
            await self.leave(self.random.choice(group.members))
        elif event == "crash" and group.members:
            await self.crash(self.random.choice(group.members))
        await self.clock.aadvance(self.random.uniform(0.1, 12.0))

    async def run_down(self) -> None:
        """Until everybody has everything."""
        for group in self.groups:
            if not group.members:
                await self.join(group)
        wanted = set(self.acknowledged.values())
        end = self.clock.monotonic() + 1800.0
        while not all(group.done >= wanted for group in self.groups):
            assert self.clock.monotonic() < end, {g.name: len(wanted - g.done) for g in self.groups}
            await self.clock.aadvance(5.0)


def check_order(group: Group) -> None:
    """First deliveries are in order and without gaps."""
    for number, deliveries in group.deliveries.items():
        highest = -1
        for _, offset in deliveries:
            assert offset <= highest + 1, f"queue {number}: {offset} came before {highest + 1}"
            highest = max(highest, offset)


def check_redeliveries(group: Group) -> None:
    """A member that gets a message again gets what follows it again, until somebody else has the queue."""
    for deliveries in group.deliveries.values():
        for (name, offset), (next_name, next_offset) in pairwise(deliveries):
            if name == next_name:
                assert next_offset <= offset + 1


@pytest.mark.parametrize("restarts", [False, True], ids=["steady", "restarted"])
@pytest.mark.seeds(2, more=18)
async def test_whatever_members_do_nothing_is_lost_and_the_order_is_kept(seed: int, restarts: bool) -> None:
    async with World(seed) as world:
        for _ in range(STEPS):
            await world.step(restarts)
        if restarts and not world.restarts:
            await world.restart()
        await world.run_down()
    assert len(world.acknowledged) > 50
    for group in world.groups:
        assert world.acknowledged.items() <= group.bodies.items()
    ordered = world.groups[0]
    check_order(ordered)
    if not restarts:
        assert ordered.overlaps == []
        check_redeliveries(ordered)
