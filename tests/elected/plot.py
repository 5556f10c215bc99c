"""What may happen to an elected group and its engine, and what has to hold in the end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from elected.group import QUEUES, Group, readable
from elected.members import Member
from mqframe_testing.coordination import Fate
from mqframe_testing.simulation.coordination import COORDINATION
from stories.machines import log_of
from stories.story import Story


class ElectedPlot:
    """Of brokers that elect whoever leads, by an engine that fails, too."""

    kinds: Final = {
        "send": 45, "time": 40, "read": 12, "block": 9, "heal": 7, "slow": 4, "lossy": 4, "double": 2,
        "cut": 9, "cut later": 3, "pause": 8, "jump": 4, "kill": 6, "stop": 4, "start": 14, "power": 9,
        "away": 3, "back": 5, "force": 6, "half": 6, "fall": 6, "hand": 8,
    }  # fmt: skip
    pauses: Final = (0.2, 2, 6, 12, 40)
    """Also longer than a lease."""
    calm_seconds: Final = 240

    def __init__(self, story: Story, group: Group) -> None:
        self.story, self.group, self.chance = story, group, story.chance
        self.members, self.engine = group.members, group.members.engine.memory
        seed = story.simulation.seed
        self.is_forced = seed % 5 == 4
        self.is_sure = story.disk is None or self.members.flush == "SYNC_FLUSH"
        """Whether nobody loses what was acknowledged, so that nobody has to be forced."""

    async def begin(self) -> None:
        """Mostly somebody leads by then."""
        await self.group.clock.sleep(self.chance.choice((0, 8, 12, 12)))

    def whom(self) -> str:
        leaders = self.members.leaders()
        if leaders and self.chance.random() < 0.4:
            return self.chance.choice(leaders).name
        return self.chance.choice(self.group.names())

    def line(self, name: str) -> tuple[str, str]:
        """To the engine, too, where cuts end nothing: it is asked without connections."""
        other = self.chance.choice([*(each for each in self.group.names() if each != name), COORDINATION])
        return self.chance.choice(((name, other), (other, name)))

    async def happen(self, what: str, name: str) -> None:
        member, leaders = self.members.all[name], self.members.leaders()
        match what:
            case "read":
                self._read()
            case "double":
                self.group.network.double(name, COORDINATION, 0.5, one_way=True)
            case "half" if leaders and len(self.members.running()) > 1:
                await self._half_change(leaders[-1])
            case "fall" if leaders:
                await self._fall(leaders[-1])
            case "hand" if leaders:
                self._hand_over(leaders[-1])
            case "power" if self.story.disk is not None and member.broker is not None:
                await self._power(member)
            case "force" if self.is_forced and not leaders and member.inner is not None:
                await self._force(member)
            case "away":
                fate, whose = self.chance.choice(list(Fate)), self.chance.choice((None, member.number))
                self.story.step(f"the engine is away for {whose or 'all'}: {fate.value}")
                self.engine.go_away(whose, fate)
            case "back":
                self.story.step("the engine is back")
                self.engine.come_back()

    def _read(self) -> None:
        for member in self.members.running():
            for queue in QUEUES:
                reading = self.group.read(self.story.client, member, queue)
                self.story.sent.append(asyncio.ensure_future(reading))

    def _hand_over(self, leader: Member) -> None:
        """An operator has the leader hand over its lead, while whatever else happens goes on."""
        to, seconds = self.chance.choice((0, 1, 2, 3)), self.chance.choice((0.05, 0.5, 5))
        self.story.step(f"{leader.name} is to hand over to {to or 'any'} within {seconds} s")
        self.story.send(self.chance.choice((0, 3, 10)))
        asking = self.group.hand_over(self.story.client, leader, to, seconds)
        self.story.sent.append(asyncio.ensure_future(asking))

    async def _half_change(self, leader: Member) -> None:
        """A broker is to join while the leader is not told whether it did; then the leader dies."""
        group, chance, clock = self.group, self.chance, self.group.clock
        other = chance.choice([each for each in self.members.running() if each is not leader])
        self.story.step(f"half a change: {other.name} is to join {leader.name}")
        await group.stop(other.name, kill=True)
        await clock.sleep(chance.choice((1, 3, 7)))
        await group.start(other.name)
        await clock.sleep(chance.choice((0.1, 0.3, 0.5)))
        self.engine.go_away(leader.number, chance.choice((Fate.DONE, Fate.DONE, Fate.LATE)))
        await clock.sleep(chance.choice((0, 0.1, 0.5)))
        group.network.delay(leader.name, other.name, chance.choice((0, 0.5, 4)), one_way=True)
        self.story.send(10)
        await clock.sleep(chance.choice((0.01, 0.5)))
        if leader.broker is not None:
            await group.stop(leader.name, kill=True)
        self.engine.come_back()

    async def _fall(self, leader: Member) -> None:
        """The leader dies while others have unlike parts of its log; readers look at who is next."""
        group, chance = self.group, self.chance
        names = [each.name for each in self.members.running() if each is not leader]
        self.story.step(f"{leader.name} falls")
        for name in names:
            if chance.random() < 0.5:
                group.network.delay(leader.name, name, chance.choice((0.05, 4)), one_way=True)
        self.story.send(20)
        await group.clock.sleep(chance.choice((0, 0.01, 0.3)))
        if leader.broker is not None:
            await group.stop(leader.name, kill=True)
        if len(names) == 2 and chance.random() < 0.5:
            group.network.block(*names)
        for _ in range(24):
            await group.clock.sleep(0.3)
            self._read()

    async def _power(self, member: Member) -> None:
        group, chance = self.group, self.chance
        self.story.send(chance.choice((0, 3, 10)))  # not synced yet
        await group.clock.sleep(0.01)
        how = await self.members.lose_power(member.name, group.chance)
        self.story.step(f"{member.name} loses power: {how}")
        if chance.random() < 0.5:  # it is back before anybody notices
            await group.start(member.name)
            self.story.send(1)
            others = [each for each in self.members.running() if each is not member]
            if others and chance.random() < 0.5:
                last = chance.choice(others)
                self.story.step(f"kill {last.name}")
                await group.stop(last.name, kill=True)

    async def _force(self, member: Member) -> bool:
        done = await self.group.force(self.story.client, member)
        self.story.step(f"{member.name} is forced to lead: {done}")
        return done

    # The end

    async def calm(self) -> None:
        """Where all who had everything lost power, only an operator can say who leads."""
        self.engine.come_back()
        if await self.story.until_alike():
            return
        if not self.members.leaders() and (not self.is_sure or self.group.forced):
            state, notes = await self.group.recorded()
            if state is not None and not any(
                number in notes and notes[number].is_clean for number in state.members
            ):
                running = [each for each in self.members.running() if each.inner is not None]
                for each in sorted(running, key=log_end, reverse=True):
                    if await self._force(each):
                        break
                if await self.story.until_alike():
                    return
        raise AssertionError(f"all is calm, and the brokers are not alike: {await self._whereabouts()}")

    async def _whereabouts(self) -> str:
        group = self.group
        state, notes = await group.recorded()
        told = [f"engine: {state}", *[f"{note}" for note in notes.values()]]
        for each in self.members.running():
            inner, election = each.inner, each.election
            counters = {} if inner is None else inner.counters()
            kept = {key: value for key, value in counters.items() if key.startswith("replication")}
            trouble = "" if election is None else election.elector.trouble
            told.append(f"{each.name}: {kept}, {self.members.history(each)}, trouble: {trouble}")
        return "\n    ".join(told)

    async def end(self) -> None:
        group = self.group
        for _ in range(5):  # of connections whose other end lost power clients learn by using them
            taken = await asyncio.gather(*group.send(self.story.client))
            if taken and all(taken):
                break
            await group.clock.sleep(1)
        else:
            raise AssertionError(f"all is calm, and a message is not taken: {await self._whereabouts()}")
        if not await self.story.until_alike():
            raise AssertionError(f"all is calm, and a message is not copied: {await self._whereabouts()}")
        await asyncio.gather(*self.story.sent)
        group.check(whole=True)
        first, *others = [each.inner for each in self.members.running() if each.inner is not None]
        for other in others:
            if log_of(first, 0) != log_of(other, 0):
                raise AssertionError("logs differ in the end")
            for queue in QUEUES:
                one, two = readable(first, queue), readable(other, queue)
                # Where nothing is left, one may know that offsets were given away for what was lost.
                if one != two and (one.bodies or two.bodies):
                    raise AssertionError(f"queue {queue} is not alike everywhere in the end")


def log_end(member: Member) -> int:
    """Where the log of `member` ends."""
    return 0 if member.inner is None else member.inner.store.log.max_offset


def story_of_a_group(folder: Path, seed: int) -> Story:
    """The story of this seed; its brokers keep what they have in `folder`."""
    story = Story(folder, seed)
    group = story.brokers = Group(folder, story.simulation, story.disk)
    story.plot = ElectedPlot(story, group)
    return story
