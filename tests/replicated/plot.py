"""What may happen to a master and its slaves, and what has to hold in the end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from replicated.group import Group, Member, follows_now
from stories.machines import log_of, messages_of
from stories.story import Story

from mqframe.broker.broker import Broker


class MasterPlot:
    """Of a master whose role is set, whom nobody replaces."""

    kinds: Final = {
        "send": 40, "time": 40, "block": 6, "heal": 8, "slow": 5, "lossy": 3, "cut": 8, "cut later": 4,
        "pause": 6, "jump": 5, "kill": 3, "stop": 1, "start": 12, "spoil": 3, "power": 14,
    }  # fmt: skip
    pauses: Final = (0.2, 2, 8, 40, 130)
    """Also longer than any time-out, and than a name server's patience."""
    calm_seconds: Final = 200

    def __init__(self, story: Story, group: Group) -> None:
        self.story, self.group, self.chance = story, group, story.chance
        self.master_lost = False

    async def begin(self) -> None:
        pass

    def whom(self) -> str:
        return self.chance.choice(self.group.names())

    def line(self, name: str) -> tuple[str, str]:
        slave = self.chance.choice(self.group.slaves()).name
        return self.chance.choice((("master", slave), (slave, "master")))

    async def happen(self, what: str, name: str) -> None:
        if what == "power" and self.story.disk is not None and self.group.runs(name):
            await self._power(name)
        elif what == "spoil":
            await self._spoil(self.chance.choice(self.group.slaves()).name)

    async def _spoil(self, slave: str) -> None:
        if self.group.runs(slave):
            self.story.step(f"spoil {slave}")
            await self.group.stop(slave, kill=True)
            self.group.spoil(slave)
            await self.group.start(slave)

    async def _power(self, name: str) -> None:
        chance, group, story = self.chance, self.group, self.story
        if name == "master":
            self.master_lost = True
            if chance.random() < 0.6:
                group.network.heal()  # so that slaves have what is lost
            story.send(chance.choice((0, 3, 10)))  # not synced yet
            await group.clock.sleep(0.01)
        story.step(f"{name}: {await group.lose_power(name)}")
        if name == "master" and chance.random() < 0.85:
            # It is back before anybody notices, and its log grows past what slaves have.
            await group.start(name)
            story.send(1)  # it shows the client that its connection is gone
            await group.clock.sleep(1.1)
            story.send(40)

    async def calm(self) -> None:
        """What lost its way is made anew."""
        group = self.group
        await self.story.until_alike()
        for member in group.slaves():
            if self.master_lost and member.broker is not None and not follows_now(member.broker):
                await group.stop(member.name, kill=False)
                member.life += 1  # an empty store
                await group.start(member.name)
        await self.story.until_alike()

    async def end(self) -> None:
        await asyncio.gather(*self.story.sent)
        group = self.group
        master = group.members["master"].broker
        assert master is not None
        log = log_of(master, 0)
        for member in group.slaves():
            self._agrees(member, log, master)
        for end, body in group.acknowledged.items():
            if not self.master_lost and (body not in log if end < 0 else log[end - len(body) : end] != body):
                raise AssertionError(f"{body[:6]!r} was acknowledged, and the master has lost it")

    def _agrees(self, member: Member, log: bytes, master: Broker) -> None:
        slave = member.broker
        assert slave is not None
        counters = slave.counters()
        theirs = log_of(slave, 0)
        if theirs != log and not self.group.differs_in_holes(0, theirs, log):
            why = counters["replicationTrouble"]
            raise AssertionError(
                f"{member.name} has {slave.store.log.max_offset} of {len(log)} bytes in the end: {why}"
            )
        if counters["replicationMissing"] != "0":
            raise AssertionError(f"{member.name} lacks something: {counters}")
        for queue in (0, 1):
            theirs_too, mine = messages_of(slave, "t", queue), messages_of(master, "t", queue)
            if theirs_too != mine and (theirs == log or not set(mine) < set(theirs_too)):
                raise AssertionError(f"{member.name}: queue {queue} is not that of the master")


def story_of_a_master(folder: Path, seed: int) -> Story:
    """The story of this seed; its brokers keep what they have in `folder`."""
    story = Story(folder, seed)
    group = story.brokers = Group(folder, story.simulation, story.disk)
    story.plot = MasterPlot(story, group)
    return story
