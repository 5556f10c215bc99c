"""One story by a seed: what happens to an elected group, its network and its engine, step by step."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from random import Random
from typing import Any

from elected.group import QUEUES, Group, readable
from elected.members import NAMES_PORT, Member, log_of
from elected.promises import Broken
from mqframe_testing.coordination import Fate
from mqframe_testing.simulation import Simulation
from mqframe_testing.simulation.coordination import COORDINATION
from silence import logs_kept_to

from mqframe.nameserver.server import NameServer
from mqframe.nameserver.settings import NameServerSettings
from mqframe.net.client import Client

STEPS = 40
DRIFT = 0.001
"""By what share clocks of hosts may go too fast or too slow."""
KINDS = {
    "send": 45, "time": 40, "read": 12, "block": 9, "heal": 7, "slow": 4, "lossy": 4, "double": 2, "cut": 5,
    "cut later": 3, "pause": 8, "jump": 4, "kill": 6, "stop": 4, "start": 14, "power": 9, "away": 3,
    "back": 5, "force": 6, "half": 6, "fall": 6,
}  # fmt: skip
"""Kinds of steps, and how often each comes."""
PAUSES = (0.2, 2, 6, 12, 40)
"""Seconds that a host stands still: also longer than a lease."""
CALM_SECONDS = 240
"""After the last trouble everything has to be well again within it."""


class Story:
    """A failure tells the seed and all steps."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = Random(f"story {seed}")
        self.simulation = Simulation(seed, drift=DRIFT)
        self.group = Group(folder, self.simulation, loses_power=seed % 3 == 2)
        self.is_forced = seed % 5 == 4
        self.is_sure = seed % 3 != 2 or self.group.members.flush == "SYNC_FLUSH"
        """Whether nobody loses what was acknowledged, so that nobody has to be forced."""
        self.sent: list[asyncio.Task[Any]] = []

    def run(self) -> None:
        """Play it. Raises `Broken`."""
        try:
            with logs_kept_to(logging.NullHandler()), self.group.watched(), self.simulation:
                self.simulation.run(self._whole(), limit=float("inf"))
        except AssertionError as broken:
            raise Broken(f"{broken}\n  {self.simulation.told()}") from broken

    async def _whole(self) -> None:
        group = self.group
        names = await self._name_server()
        client = Client(group.clock)
        for name in group.members.all:
            await group.members.start(name)
        await group.clock.sleep(self.chance.choice((0, 8, 12, 12)))
        for _ in range(STEPS):
            await self._step(client)
            group.check()
            await self._gather()
        await self._calm(client)
        await self._end(client)
        await client.close()
        for name in reversed(group.members.all):
            await group.members.stop(name, kill=False)
        await names.stop()
        await group.clock.sleep(0)

    async def _gather(self) -> None:
        """Raise what sends that are over have found."""
        for task in self.sent:
            if task.done():
                await task
        self.sent = [task for task in self.sent if not task.done()]

    async def _name_server(self) -> NameServer:
        """On a host that never fails."""
        host = self.simulation.host("names")
        folder = self.group.members.folder / "names"
        server = NameServer(NameServerSettings(port=NAMES_PORT, directory=folder), host.clock)
        await host.run(server.start())
        return server

    async def _step(self, client: Client) -> None:
        chance, group = self.chance, self.group
        member = chance.choice(list(group.members.all.values()))
        leaders = group.members.leaders()
        if leaders and chance.random() < 0.4:
            member = chance.choice(leaders)
        what = chance.choices(list(KINDS), list(KINDS.values()))[0]
        match what:
            case "send":
                self._send(client, chance.choice((1, 1, 3, 20)))
            case "time":
                await group.clock.sleep(chance.choice((0.01, 0.3, 1, 1, 3, 6, 15)))
            case "read":
                self._read(client)
            case "half" if leaders and len(group.members.running()) > 1:
                await self._half_change(client, leaders[-1])
            case "fall" if leaders:
                await self._fall(client, leaders[-1])
            case "pause":
                group.simulation.host(member.name).pause(chance.choice(PAUSES))
            case "jump":
                seconds = chance.choice((-3600, -2, 2, 3600, 90 * 86_400))
                group.simulation.step(f"the clock of {member.name} is set by {seconds} s")
                group.simulation.host(member.name).clock.jump(seconds)
            case "kill" | "stop" if member.broker is not None:
                group.simulation.step(f"{what} {member.name}")
                await group.members.stop(member.name, kill=what == "kill")
            case "start":
                await self._start_all()
            case "power" if group.disk is not None and member.broker is not None:
                await self._power(client, member)
            case "force" if self.is_forced and not leaders and member.inner is not None:
                await self._force(client, member)
            case "away":
                fate, whom = chance.choice(list(Fate)), chance.choice((None, member.number))
                group.simulation.step(f"the engine is away for {whom or 'all'}: {fate.value}")
                group.members.engine.memory.go_away(whom, fate)
            case "back":
                group.simulation.step("the engine is back")
                group.members.engine.memory.come_back()
            case _:
                self._network(what, member)
        await group.clock.sleep(0)

    def _network(self, what: str, member: Member) -> None:
        chance, network = self.chance, self.group.network
        others = [name for name in self.group.members.all if name != member.name]
        other = chance.choice([*others, COORDINATION])
        source, target = chance.choice(((member.name, other), (other, member.name)))
        one_way = chance.random() < 0.5
        match what:
            case "block":
                network.block(source, target, one_way=one_way)
            case "heal":
                network.heal()
            case "slow":
                network.delay(source, target, chance.choice((0.05, 0.5, 4)), one_way=one_way)
            case "lossy":
                network.lose(source, target, chance.choice((0.05, 0.5)), one_way=one_way)
            case "double":
                network.double(member.name, COORDINATION, 0.5, one_way=True)
            case "cut":
                network.cut(member.name, chance.choice(others))
            case "cut later":
                network.cut_after(source, target, chance.choice((0, 5, chance.randrange(20_000))))

    def _send(self, client: Client, count: int) -> None:
        self.group.simulation.step(f"{count} sends")
        for _ in range(count):
            self.sent += self.group.send(client)

    def _read(self, client: Client) -> None:
        for member in self.group.members.running():
            for queue in QUEUES:
                self.sent.append(asyncio.ensure_future(self.group.read(client, member, queue)))

    async def _half_change(self, client: Client, leader: Member) -> None:
        """A broker is to join while the leader is not told whether it did; then the leader dies."""
        group, chance = self.group, self.chance
        other = chance.choice([each for each in group.members.running() if each is not leader])
        group.simulation.step(f"half a change: {other.name} is to join {leader.name}")
        await group.members.stop(other.name, kill=True)
        await group.clock.sleep(chance.choice((1, 3, 7)))
        await group.members.start(other.name)
        await group.clock.sleep(chance.choice((0.1, 0.3, 0.5)))
        group.members.engine.memory.go_away(leader.number, chance.choice((Fate.DONE, Fate.DONE, Fate.LATE)))
        await group.clock.sleep(chance.choice((0, 0.1, 0.5)))
        group.network.delay(leader.name, other.name, chance.choice((0, 0.5, 4)), one_way=True)
        self._send(client, 10)
        await group.clock.sleep(chance.choice((0.01, 0.5)))
        if leader.broker is not None:
            await group.members.stop(leader.name, kill=True)
        group.members.engine.memory.come_back()

    async def _fall(self, client: Client, leader: Member) -> None:
        """The leader dies while others have unlike parts of its log; readers look at who is next."""
        group, chance = self.group, self.chance
        names = [each.name for each in group.members.running() if each is not leader]
        group.simulation.step(f"{leader.name} falls")
        for name in names:
            if chance.random() < 0.5:
                group.network.delay(leader.name, name, chance.choice((0.05, 4)), one_way=True)
        self._send(client, 20)
        await group.clock.sleep(chance.choice((0, 0.01, 0.3)))
        if leader.broker is not None:
            await group.members.stop(leader.name, kill=True)
        if len(names) == 2 and chance.random() < 0.5:
            group.network.block(*names)
        for _ in range(24):
            await group.clock.sleep(0.3)
            self._read(client)

    async def _start_all(self) -> None:
        for member in self.group.members.all.values():
            if member.broker is None:
                self.group.simulation.step(f"start {member.name}")
                await self.group.members.start(member.name)

    async def _power(self, client: Client, member: Member) -> None:
        group, chance = self.group, self.chance
        self._send(client, chance.choice((0, 3, 10)))  # not synced yet
        await group.clock.sleep(0.01)
        how = await group.members.lose_power(member.name, group.chance)
        group.simulation.step(f"{member.name} loses power: {how}")
        if chance.random() < 0.5:  # it is back before anybody notices
            await group.members.start(member.name)
            self._send(client, 1)
            others = [each for each in group.members.running() if each is not member]
            if others and chance.random() < 0.5:
                last = chance.choice(others)
                group.simulation.step(f"kill {last.name}")
                await group.members.stop(last.name, kill=True)

    async def _force(self, client: Client, member: Member) -> bool:
        done = await self.group.force(client, member)
        self.group.simulation.step(f"{member.name} is forced to lead: {done}")
        return done

    # The end

    async def _calm(self, client: Client) -> None:
        """Nothing fails any more: all are there again."""
        group = self.group
        group.simulation.step("calm")
        group.network.heal()
        group.members.engine.memory.come_back()
        for name in group.members.all:
            group.simulation.host(name).resume()
        await self._start_all()
        if await self._until_alike():
            return
        if not group.members.leaders() and (not self.is_sure or self.group.forced):
            state, notes = await group.recorded()
            if state is not None and not any(
                number in notes and notes[number].is_clean for number in state.members
            ):
                # All who had everything lost power: only an operator can say who leads.
                running = [each for each in group.members.running() if each.inner is not None]
                for each in sorted(
                    running, key=lambda each: -each.inner.store.log.max_offset if each.inner else 0
                ):
                    if await self._force(client, each):
                        break
                if await self._until_alike():
                    return
        raise Broken(f"all is calm, and the brokers are not alike: {await self._whereabouts()}")

    async def _until_alike(self) -> bool:
        """Let time pass until one leads, and all others have what it has."""
        group = self.group
        for _ in range(CALM_SECONDS // 5):
            await group.clock.sleep(5)
            group.check()
            await self._gather()
            inner = [each.inner for each in group.members.running()]
            ends = {None if each is None else each.store.log.max_offset for each in inner}
            confirmed = {None if each is None else each.store.log.confirmed_offset for each in inner}
            if len(ends) == 1 and ends == confirmed and None not in ends and self._follow_one():
                return True
        return False

    def _follow_one(self) -> bool:
        members = self.group.members
        followers = [each.inner for each in members.running() if not each.leads]
        follow = [each is not None and each.counters()["replicationFollows"] == "true" for each in followers]
        return len(members.leaders()) == 1 and all(follow)

    async def _whereabouts(self) -> str:
        group = self.group
        state, notes = await group.recorded()
        told = [f"engine: {state}", *[f"{note}" for note in notes.values()]]
        for each in group.members.running():
            inner, election = each.inner, each.election
            counters = {} if inner is None else inner.counters()
            kept = {key: value for key, value in counters.items() if key.startswith("replication")}
            trouble = "" if election is None else election.elector.trouble
            told.append(f"{each.name}: {kept}, {group.members.history(each)}, trouble: {trouble}")
        return "\n    ".join(told)

    async def _end(self, client: Client) -> None:
        group = self.group
        for _ in range(5):  # of connections whose other end lost power clients learn by using them
            sent = group.send(client)
            taken = await asyncio.gather(*sent)
            if taken and all(taken):
                break
            await group.clock.sleep(1)
        else:
            raise Broken(f"all is calm, and a message is not taken: {await self._whereabouts()}")
        if not await self._until_alike():
            raise Broken(f"all is calm, and a message is not copied: {await self._whereabouts()}")
        await asyncio.gather(*self.sent)
        group.check(whole=True)
        first, *others = [each.inner for each in group.members.running() if each.inner is not None]
        for other in others:
            if log_of(first, 0) != log_of(other, 0):
                raise Broken("logs differ in the end")
            for queue in QUEUES:
                one, two = readable(first, queue), readable(other, queue)
                # Where nothing is left, one may know that offsets were given away for what was lost.
                if one != two and (one.bodies or two.bodies):
                    raise Broken(f"queue {queue} is not alike everywhere in the end")


def log_end(member: Member) -> int:
    """Where the log of `member` ends."""
    return 0 if member.inner is None else member.inner.store.log.max_offset
