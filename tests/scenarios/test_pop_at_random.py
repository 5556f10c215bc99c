"""Members of a group pop, acknowledge, hide, forget and crash while the broker stops and is killed."""

from __future__ import annotations

import random

import pytest
from mqframe_pop.settings import PopSettings
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.thread_pools import at_rest
from popping import Popped, pop_request, popped

from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.requests.admin import UpdateAndCreateSubscriptionGroup
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.wire.loose_json import dumps
from mqframe.net.client import Client

MESSAGES = 60
STEPS = 150


class Play:
    """What the group was given, and until when each message may not be given again (ms).

    After a kill there may be two copies of one, what was out and what is given again; so where the broker is
    killed this is kept for each copy: topic, queue id, offset.
    """

    def __init__(self, cluster: AsyncCluster, clock: ManualClock, seed: int, killing: bool) -> None:
        self.killing = killing
        self.cluster = cluster
        self.clock = clock
        self.chance = random.Random(seed)
        self.client = Client(clock)
        self.sent = 0
        self.held: list[Popped] = []
        self.hidden_until: dict[object, int] = {}
        self.acknowledged: set[bytes] = set()
        self.again = 0

    def which(self, message: Popped) -> object:
        if self.killing:
            return message.topic, message.handle.queue_id, message.offset
        return message.body

    async def invoke(self, request, body: bytes = b""):
        return await self.client.invoke(self.cluster.broker.address, request, body)

    async def send(self) -> None:
        if self.sent < MESSAGES:
            request = SendMessageV2(
                "p", "t", "TBW102", 2, self.sent % 2, 0, 1, 0, f"UNIQ_KEY\x01K{self.sent}\x02"
            )
            assert (await self.invoke(request, b"%d" % self.sent)).code == 0
            self.sent += 1

    async def pop(self) -> None:
        invisible = self.chance.choice([2000, 15_000, 60_000])
        count = self.chance.randint(1, 8)
        request = pop_request(invisible_time=invisible, max_msg_nums=count)
        now = self.clock.now_ms()
        for message in popped(await self.invoke(request)):
            assert now >= self.hidden_until.get(self.which(message), 0), f"{message.body!r} came too early"
            self.again += message.message.reconsume_times > 0
            self.hidden_until[self.which(message)] = now + invisible
            self.held.append(message)

    async def acknowledge(self) -> None:
        if not self.held:
            return
        message = self.held.pop(self.chance.randrange(len(self.held)))
        answer = await self.invoke(message.ack())
        in_time = self.clock.now_ms() < message.handle.visible_at
        assert answer.code == 0 or not in_time or answer.code == 208
        if answer.code == 0:
            assert in_time
            self.acknowledged.add(message.body)
            self.hidden_until[self.which(message)] = 1 << 62

    async def hide(self) -> None:
        if not self.held:
            return
        message = self.held[-1]
        answer = await self.invoke(message.hide(20_000))
        if answer.code == 0:
            until = int(answer.ext["popTime"]) + 20_000
            self.hidden_until[self.which(message)] = until
            message.handle = message.handle._replace(
                start_offset=message.offset, pop_time=until - 20_000, invisible_time=20_000
            )

    async def forget(self) -> None:
        """A member crashes with all that it holds."""
        self.held.clear()

    async def wait(self) -> None:
        await self.clock.aadvance(self.chance.choice([0.001, 0.5, 3, 11, 30]))

    async def restart(self) -> None:
        await at_rest()
        await self.cluster.restart_broker()

    async def kill(self) -> None:
        """What was not written is given again, earlier than it was to be, even if acknowledged later."""
        self.held.clear()
        await self.cluster.kill_broker()
        await self.cluster.start_broker()
        self.hidden_until = dict.fromkeys(self.hidden_until, 0)

    async def whole(self) -> None:
        steps = [self.send] * 5 + [self.pop] * 4 + [self.acknowledge] * 6 + [self.hide] * 2
        steps += [self.wait] * 3 + [self.forget, self.restart]
        if self.killing:
            steps.append(self.kill)
        for _ in range(STEPS):
            step = self.chance.choice(steps)
            if step in (self.restart, self.kill) and self.chance.random() < 0.6:
                continue
            await step()
            await self.clock.aadvance(0.001)
        while self.sent < MESSAGES:
            await self.send()
        for _ in range(100):
            if len(self.acknowledged) == MESSAGES:
                break
            await self.pop()
            while self.held:
                await self.acknowledge()
            await self.clock.aadvance(31)


@pytest.mark.parametrize("killing", [False, True])
@pytest.mark.seeds(1, more=19)
async def test_every_message_is_acknowledged_in_the_end_and_none_comes_too_early(
    seed: int, killing: bool
) -> None:
    clock = ManualClock()
    async with AsyncCluster(clock=clock, sections=[PopSettings(check_points_max=6)]) as cluster:
        await cluster.create_topic("t", 2)
        play = Play(cluster, clock, seed, killing)
        group = SubscriptionGroupConfig("g", retry_max_times=1000)
        assert (await play.invoke(UpdateAndCreateSubscriptionGroup(), dumps(group))).code == 0
        await play.whole()
        await play.client.close()
    play = play
    assert play.acknowledged == {b"%d" % number for number in range(MESSAGES)}
    assert play.again > 0
