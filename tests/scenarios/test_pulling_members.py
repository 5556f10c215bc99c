"""Lite pull and simple consumers join, leave, crash and forget while the broker restarts; nothing is lost."""

from __future__ import annotations

import random

import pytest
from mqframe_testing import ClusterScene

from mqframe import (
    AsyncLitePullConsumer,
    AsyncProducer,
    AsyncSimpleConsumer,
    ClientSettings,
    Message,
    MqframeError,
    PoppedMessage,
    ReceiptError,
)
from mqframe.client.connection.instance import ClientInstance

GROUP = "workers"
STEPS = 120


class World(ClusterScene):
    """A cluster of one broker with a topic of four queues, and members that can be made to crash."""

    def __init__(self, seed: int) -> None:
        super().__init__(topics={"work": 4})
        self.chance = random.Random(seed)
        self.sent: list[bytes] = []
        self.members: dict[object, ClientInstance] = {}
        self._names = 0

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))
        await self.send_some(20)

    async def send_some(self, count: int) -> None:
        for _ in range(count):
            body = b"%d" % len(self.sent)
            await self.finish(self.producer.send(Message("work", body)))
            self.sent.append(body)

    async def join(self, kind, **options):
        self._names += 1
        settings = ClientSettings(nameserver=self.nameserver, instance_name=f"m{self._names}")
        instance = ClientInstance.connect(settings, self.clock)
        await instance.start()
        member = kind(GROUP, instance=instance, clock=self.clock, consume_from="first", **options)
        member.subscribe("work")
        await self.finish(member.start())
        self.members[member] = instance
        return member

    async def leave(self, member) -> None:
        instance = self.members.pop(member)
        await self.finish(member.stop())
        await self.finish(instance.stop())

    async def crash(self, member) -> None:
        """Its connections break, and it says and commits nothing any more."""
        instance = self.members.pop(member)
        await instance.remoting.close()
        await self.finish(member.stop())
        await self.finish(instance.stop())

    async def restart(self) -> None:
        if self.chance.random() < 0.5:
            await self.cluster.kill_broker()
        else:
            await self.finish(self.cluster.stop_broker())
        await self.cluster.start_broker()
        await self.clock.aadvance(1.0)

    def any_member(self):
        return self.chance.choice(list(self.members))

    async def stop(self) -> None:
        for member in list(self.members):
            await self.leave(member)
        await super().stop()


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_lite_pull_members_lose_nothing(seed: int) -> None:
    got: list[bytes] = []

    async def poll(world: World, member: AsyncLitePullConsumer, seconds: float) -> int:
        messages = await world.finish(member.poll(seconds, max_messages=world.chance.randint(1, 8)))
        got.extend(message.body for message in messages)
        return len(messages)

    async with World(seed) as world:
        await world.join(AsyncLitePullConsumer)
        for _ in range(STEPS):
            step = world.chance.choice(["send", "poll", "poll", "poll", "wait", "join", "end", "restart"])
            if step == "send":
                await world.send_some(world.chance.randint(1, 10))
            elif step == "poll":
                await poll(world, world.any_member(), 0.5)
            elif step == "wait":
                await world.clock.aadvance(world.chance.uniform(0.1, 25.0))
            elif step == "join" and len(world.members) < 4:
                await world.join(AsyncLitePullConsumer)
            elif step == "end" and len(world.members) > 1:
                end = world.chance.choice([world.leave, world.crash])
                await end(world.any_member())
            elif step == "restart" and world.chance.random() < 0.3:
                await world.restart()
        for _ in range(60):
            if set(got) == set(world.sent):
                break
            for member in list(world.members):
                while await poll(world, member, 1.0):
                    pass
        assert set(got) == set(world.sent)


@pytest.mark.parametrize("seed", [4, 5, 6])
async def test_simple_consumers_lose_nothing(seed: int) -> None:
    done: set[bytes] = set()

    async def receive(world: World, member: AsyncSimpleConsumer) -> list[PoppedMessage]:
        try:
            messages = await world.finish(member.receive(world.chance.randint(1, 16), 10.0))
        except MqframeError:
            return []  # its broker was restarting
        return messages

    async def work_off(world: World, member: AsyncSimpleConsumer, messages, kept: float) -> None:
        for message in messages:
            if world.chance.random() >= kept:
                continue  # forgotten: it comes again
            try:
                if world.chance.random() < 0.2:
                    await world.finish(member.change_invisible_duration(message, 20.0))
                await world.finish(member.ack(message))
            except ReceiptError:
                continue
            done.add(message.body)

    async with World(seed) as world:
        await world.join(AsyncSimpleConsumer, await_duration=0.5)
        for _ in range(STEPS):
            step = world.chance.choice(["send", "receive", "receive", "wait", "join", "end", "restart"])
            if step == "send":
                await world.send_some(world.chance.randint(1, 10))
            elif step == "receive":
                member = world.any_member()
                await work_off(world, member, await receive(world, member), 0.7)
            elif step == "wait":
                await world.clock.aadvance(world.chance.uniform(0.1, 12.0))
            elif step == "join" and len(world.members) < 4:
                await world.join(AsyncSimpleConsumer, await_duration=0.5)
            elif step == "end" and len(world.members) > 1:
                end = world.chance.choice([world.leave, world.crash])
                await end(world.any_member())
            elif step == "restart" and world.chance.random() < 0.3:
                await world.restart()
        member = world.any_member()
        idle = 0
        while idle < 12:
            messages = await receive(world, member)
            await work_off(world, member, messages, 1.0)
            idle = 0 if messages else idle + 1
            await world.clock.aadvance(10.0)
        assert done == set(world.sent)
