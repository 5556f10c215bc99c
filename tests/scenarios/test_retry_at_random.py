"""Members join, leave, crash and stall, brokers restart, listeners fail: no message is lost on the way."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest
from mqframe_testing import ClusterScene

from mqframe import AsyncAdmin, AsyncProducer, AsyncPushConsumer, ConsumeResult, Message
from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.settings import ClientSettings

GROUP = "billing"
RETURNS_MAX = 3
STEPS = 40
MEMBERS_MAX = 4
LEVELS = " ".join(["1s"] * 18)


class Member:
    """A consumer on a client instance of its own, so that it can be cut off from everything at once."""

    def __init__(self, story: Story, name: str) -> None:
        self.story = story
        self.alive = True
        self.stalled = asyncio.Event()
        self.stalled.set()
        client = ClientSettings(nameserver=story.nameserver, instance_name=name)
        self.instance = ClientInstance.connect(client, story.clock)
        self.consumer = AsyncPushConsumer(
            GROUP,
            clock=story.clock,
            client=client,
            instance=self.instance,
            consume_from="first",
            settings=ConsumerSettings(max_reconsume_times=RETURNS_MAX, stop_seconds=1.0),
        )
        self.consumer.subscribe("orders", "*", self.listen, batch_max=3)

    async def listen(self, messages, context) -> ConsumeResult:
        await self.stalled.wait()
        if not self.alive:
            raise RuntimeError("this process is gone")
        if self.story.random.random() < 0.3:
            return ConsumeResult.RECONSUME_LATER
        good = self.story.random.randint(1, len(messages))
        context.ack_index = good - 1
        self.story.done.update(message.body for message in messages[:good])
        return ConsumeResult.SUCCESS


class Story(ClusterScene):
    def __init__(self, seed: int) -> None:
        super().__init__(2, topics={"orders": 2}, store={"delay_levels": LEVELS})
        self.random = random.Random(seed)
        self.members: list[Member] = []
        self.gone: list[Member] = []
        self.names = 0
        self.sent: set[bytes] = set()
        self.done: Counter[bytes] = Counter()

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))

    async def stop(self) -> None:
        for member in self.gone + self.members:
            member.stalled.set()
            await self.finish(member.consumer.stop())
            await self.finish(member.instance.stop())
        await super().stop()

    async def join(self) -> None:
        if len(self.members) < MEMBERS_MAX:
            self.names += 1
            member = Member(self, f"m{self.names}")
            await member.instance.start()
            self.members.append(member)
            await self.finish(member.consumer.start())

    async def leave(self) -> None:
        if self.members:
            member = self.members.pop(self.random.randrange(len(self.members)))
            member.stalled.set()
            await self.finish(member.consumer.stop())
            await self.finish(member.instance.stop())

    async def crash(self) -> None:
        if self.members:
            member = self.members.pop(self.random.randrange(len(self.members)))
            member.alive = False
            await member.instance.remoting.close()
            self.gone.append(member)

    async def stall(self) -> None:
        if self.members:
            self.random.choice(self.members).stalled.clear()

    async def go_on(self) -> None:
        for member in self.members:
            member.stalled.set()

    async def send_some(self) -> None:
        for _ in range(self.random.randint(1, 12)):
            body = b"%d" % len(self.sent)
            await self.finish(self.producer.send(Message("orders", body)))
            self.sent.add(body)

    async def restart_broker(self) -> None:
        if self.random.random() < 0.5:
            await self.cluster.kill_broker(0)
            await self.cluster.start_broker(0)
        else:
            await self.cluster.restart_broker(0)

    async def play(self) -> None:
        await self.join()
        steps = [self.send_some] * 6 + [self.join] * 3 + [self.leave, self.crash, self.stall]
        steps += [self.go_on] * 2 + [self.restart_broker]
        for _ in range(STEPS):
            await self.random.choice(steps)()
            await self.clock.aadvance(self.random.uniform(0.0, 4.0))

    async def all_seen_to(self) -> set[bytes]:
        """Wait until each message succeeded or died; gives what died."""
        await self.go_on()
        await self.join()
        admin = await self.open(AsyncAdmin(nameserver=self.nameserver, clock=self.clock))
        dead: set[bytes] = set()
        for _ in range(120):
            await self.clock.aadvance(2.0)
            await admin.dead_letters.open(GROUP)
            letters = await admin.dead_letters.list(GROUP, max_count=10_000)
            dead = {letter.message.body for letter in letters}
            if self.sent <= dead | set(self.done):
                break
        await self.clock.aadvance(30.0)
        assert await admin.groups.lag(GROUP) == 0
        return dead


@pytest.mark.seeds(2, more=18)
async def test_every_message_succeeds_or_dies(seed) -> None:
    async with Story(seed) as story:
        await story.play()
        dead = await story.all_seen_to()
        missing = story.sent - dead - set(story.done)
        assert not missing, sorted(missing)
        assert len(story.sent) > 40
