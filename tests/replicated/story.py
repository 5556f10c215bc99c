"""One story by a seed: what happens to a master, its slaves and the network between them, step by step."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from random import Random

from mqframe_testing.simulation import Simulation
from replicated.group import Broken, Group, Member, follows_now, log_of, name_server
from silence import logs_kept_to

from mqframe.broker.broker import Broker
from mqframe.core.storage.record import decode_records
from mqframe.net.client import Client

STEPS = 40
DRIFT = 0.001
"""By what share clocks of hosts may go too fast or too slow."""
KINDS = {
    "send": 40, "time": 40, "block": 6, "heal": 8, "slow": 5, "lossy": 3, "cut": 8, "cut later": 4,
    "pause": 6, "jump": 5, "kill": 3, "stop": 1, "start": 12, "spoil": 3, "power": 14,
}  # fmt: skip
"""Kinds of steps, and how often each comes."""
PAUSES = (0.2, 2, 8, 40, 130)
"""Seconds that a host stands still: also longer than any time-out, and than a name server's patience."""
CALM_SECONDS = 200
"""After the last trouble everything has to be well again within it."""


class Story:
    """A failure tells the seed and all steps."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = Random(f"story {seed}")
        self.simulation = Simulation(seed, drift=DRIFT)
        self.group = Group(folder, self.simulation, loses_power=seed % 3 == 2)
        self.master_lost = False

    def run(self) -> None:
        """Play it. Raises `Broken`."""
        try:
            with logs_kept_to(logging.NullHandler()), self.group.watched(), self.simulation:
                self.simulation.run(self._whole(), limit=float("inf"))
        except AssertionError as broken:
            raise Broken(f"{broken}\n  {self.simulation.told()}") from None

    async def _whole(self) -> None:
        group = self.group
        names = await name_server(group)
        client = Client(group.clock)
        for name in group.members:
            await group.start(name)
        sends: list[asyncio.Task[None]] = []
        for _ in range(STEPS):
            sends += await self._step(client)
            group.check()
            for task in sends:
                if task.done():
                    await task
            sends = [task for task in sends if not task.done()]
        await self._calm()
        await asyncio.gather(*sends)
        self._end()
        await client.close()
        for name in reversed(group.members):
            await group.stop(name, kill=False)
        await names.stop()
        await group.clock.sleep(0)

    async def _step(self, client: Client) -> list[asyncio.Task[None]]:
        chance, group, network = self.chance, self.group, self.group.network
        name = chance.choice(list(group.members))
        slave = chance.choice(group.slaves()).name
        source, target = chance.choice((("master", slave), (slave, "master")))
        one_way = chance.random() < 0.67
        sends = []
        what = chance.choices(list(KINDS), list(KINDS.values()))[0]
        match what:
            case "send":
                sends = self._send(client, chance.choice((1, 1, 3, 20)))
            case "time":
                await group.clock.sleep(chance.choice((0.01, 0.3, 1, 1, 3, 6, 25)))
            case "block":
                network.block(source, target, one_way=one_way)
            case "heal":
                network.heal()
            case "slow":
                network.delay(source, target, chance.choice((0.05, 0.5, 4)), one_way=one_way)
            case "lossy":
                network.lose(source, target, chance.choice((0.05, 0.5)), one_way=one_way)
            case "cut":
                network.cut("master", slave)
            case "cut later":
                network.cut_after(source, target, chance.choice((0, 5, chance.randrange(20_000))))
            case "pause":
                group.simulation.host(name).pause(chance.choice(PAUSES))
            case "jump":
                self._jump(name, chance.choice((-3600, -2, 2, 3600, 90 * 86_400)))
            case "kill" | "stop" if group.members[name].broker is not None:
                group.simulation.step(f"{what} {name}")
                await group.stop(name, kill=what == "kill")
            case "start":
                for each in [each.name for each in group.members.values() if each.broker is None]:
                    group.simulation.step(f"start {each}")
                    await group.start(each)
            case "spoil" if group.members[slave].broker is not None:
                group.simulation.step(f"spoil {slave}")
                await group.stop(slave, kill=True)
                group.spoil(slave)
                await group.start(slave)
            case "power" if group.disk is not None and group.members[name].broker is not None:
                sends = await self._power(client, name)
        await group.clock.sleep(0)
        return sends

    def _send(self, client: Client, count: int) -> list[asyncio.Task[None]]:
        self.group.simulation.step(f"{count} sends")
        return [self.group.send(client) for _ in range(count)]

    def _jump(self, name: str, seconds: float) -> None:
        self.group.simulation.step(f"the clock of {name} is set by {seconds} s")
        self.group.simulation.host(name).clock.jump(seconds)

    async def _power(self, client: Client, name: str) -> list[asyncio.Task[None]]:
        chance, group, sends = self.chance, self.group, []
        if name == "master":
            self.master_lost = True
            if chance.random() < 0.6:
                group.network.heal()  # so that slaves have what is lost
            sends = self._send(client, chance.choice((0, 3, 10)))  # not synced yet
            await group.clock.sleep(0.01)
        group.simulation.step(f"{name}: {await group.lose_power(name)}")
        if name == "master" and chance.random() < 0.85:
            # It is back before anybody notices, and its log grows past what slaves have.
            await group.start(name)
            sends += self._send(client, 1)  # it shows the client that its connection is gone
            await group.clock.sleep(1.1)
            sends += self._send(client, 40)
        return sends

    async def _calm(self) -> None:
        """Nothing fails any more: all are there again, and what lost its way is made anew."""
        group = self.group
        group.network.heal()
        for name in group.members:
            group.simulation.host(name).resume()
        for member in group.members.values():
            if member.broker is None:
                await group.start(member.name)
        await self._until_alike()
        for member in group.slaves():
            if self.master_lost and member.broker is not None and not follows_now(member.broker):
                await group.stop(member.name, kill=False)
                member.life += 1  # an empty store
                await group.start(member.name)
        await self._until_alike()

    async def _until_alike(self) -> None:
        """Let time pass until all slaves have everything, or have had time enough for it."""
        group = self.group
        for _ in range(CALM_SECONDS // 5):
            await group.clock.sleep(5)
            group.check()
            brokers = [member.broker for member in group.members.values() if member.broker is not None]
            ends = {broker.store.log.max_offset for broker in brokers}
            if len(ends) == 1 and all(follows_now(broker) for broker in brokers[1:]):
                return

    def _end(self) -> None:
        group = self.group
        master = group.members["master"].broker
        assert master is not None
        log = log_of(master, 0)
        for member in group.slaves():
            self._agrees(member, log, master)
        for end, body in group.acknowledged.items():
            if not self.master_lost and (body not in log if end < 0 else log[end - len(body) : end] != body):
                raise Broken(f"{body[:6]!r} was acknowledged, and the master has lost it")

    def _agrees(self, member: Member, log: bytes, master: Broker) -> None:
        slave = member.broker
        assert slave is not None
        counters = slave.counters()
        theirs = log_of(slave, 0)
        if theirs != log and not self.group.differs_in_holes(0, theirs, log):
            why = counters["replicationTrouble"]
            raise Broken(
                f"{member.name} has {slave.store.log.max_offset} of {len(log)} bytes in the end: {why}"
            )
        if counters["replicationMissing"] != "0":
            raise Broken(f"{member.name} lacks something: {counters}")
        for queue in (0, 1):
            theirs_too, mine = messages(slave, queue), messages(master, queue)
            if theirs_too != mine and (theirs == log or not set(mine) < set(theirs_too)):
                raise Broken(f"{member.name}: queue {queue} is not that of the master")


def messages(broker: Broker, queue: int) -> list[tuple[int, bytes]]:
    """Queue offsets and bodies of all that can be read of a queue."""
    found: list[tuple[int, bytes]] = []
    at, end = broker.store.queues.min_offset("t", queue), broker.store.queues.max_offset("t", queue)
    while at < end:
        result = broker.store.reads.get("t", queue, at, 100, bytes_max=1 << 30)
        read = [message for part in result.parts for message in decode_records(part)]
        found += [(message.queue_offset, message.body) for message in read]
        at = max(result.next_offset, at + 1)
    return found
