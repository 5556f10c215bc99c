"""One story by a seed: what happens to a master, its slaves and the network between them, step by step."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from random import Random

from replicated.group import Broken, Group, Member, follows_now, log_of, name_server
from replicated.network import StoryLoop
from simulated.silence import logs_kept_to

from mqframe.broker.broker import Broker
from mqframe.core.storage.record import decode_records
from mqframe.net.client import Client

STEPS = 40
CALM_SECONDS = 200
"""After the last trouble everything has to be well again within it."""


class Story:
    """`told`: the steps so far, for whoever looks into a failure."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = Random(f"story {seed}")
        self.loop = StoryLoop()
        self.group = Group(folder, self.loop, seed, loses_power=seed % 3 == 2)
        self.told: list[str] = []
        self.master_lost = False

    def run(self) -> None:
        """Play it. Raises `Broken`."""
        asyncio.set_event_loop(self.loop)
        try:
            with logs_kept_to(logging.NullHandler()), self.group.watched():
                self.loop.run_until_complete(self._whole())
        except Broken as broken:
            raise Broken(f"{broken}\n    after {'; '.join(self.told)}") from None
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()

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
        await self.loop.settle()

    async def _step(self, client: Client) -> list[asyncio.Task[None]]:
        chance, group = self.chance, self.group
        name = chance.choice(list(group.members))
        slave = chance.choice(group.slaves()).name
        ways = chance.choice(
            ([("master", slave)], [(slave, "master")], [("master", slave), (slave, "master")])
        )
        sends = []
        what = chance.choices(
            ("send", "time", "block", "heal", "slow", "cut", "kill", "stop", "start", "spoil", "power"),
            (40, 40, 6, 8, 5, 8, 3, 1, 12, 3, 8),
        )[0]
        self.told.append(what)
        match what:
            case "send":
                sends = [group.send(client) for _ in range(chance.choice((1, 1, 3, 20)))]
                await group.clock.advance(0)
            case "time":
                await group.clock.advance(chance.choice((0.01, 0.3, 1, 1, 3, 6, 25)))
            case "block":
                group.network.blocked.update(ways)
            case "heal":
                group.network.heal()
            case "slow":
                group.network.delays.update(dict.fromkeys(ways, chance.choice((0.05, 0.5, 4))))
            case "cut":
                group.network.cut("master", slave)
            case "kill" | "stop" if group.members[name].broker is not None:
                await group.stop(name, kill=what == "kill")
            case "start":
                for each in [each.name for each in group.members.values() if each.broker is None]:
                    await group.start(each)
            case "spoil" if group.members[slave].broker is not None:
                await group.stop(slave, kill=True)
                group.spoil(slave)
                await group.start(slave)
            case "power" if group.disk is not None and group.members[name].broker is not None:
                if name == "master":
                    self.master_lost = True
                    sends = [group.send(client) for _ in range(chance.choice((0, 3, 10)))]  # not synced yet
                    await group.clock.advance(0.01)
                self.told[-1] += f" of {name}: {await group.lose_power(name)}"
                if name == "master" and chance.random() < 0.7:
                    # It is back before anybody notices, and its log grows past what slaves have.
                    await group.start(name)
                    sends.append(group.send(client))  # it shows the client that its connection is gone
                    await group.clock.advance(1.1)
                    sends += [group.send(client) for _ in range(40)]
                    self.told[-1] += ", back with 40 sends"
            case _:
                self.told.pop()
                return []
        self.told[-1] += {"block": f" {ways}", "cut": f" {slave}", "spoil": f" {slave}"}.get(what, "")
        self.told[-1] += f" {name}" if what in ("kill", "stop") else ""
        await group.clock.advance(0)
        return sends

    async def _calm(self) -> None:
        """Nothing fails any more: all are there again, and what lost its way is made anew."""
        group = self.group
        group.network.heal()
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
            await group.clock.advance(5)
            group.check()
            brokers = [member.broker for member in group.members.values() if member.broker is not None]
            ends = {broker.store.max_offset for broker in brokers}
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
        if log_of(slave, 0) != log:
            why = counters["replicationTrouble"]
            raise Broken(f"{member.name} has {slave.store.max_offset} of {len(log)} bytes in the end: {why}")
        if counters["replicationMissing"] != "0":
            raise Broken(f"{member.name} lacks something: {counters}")
        for queue in (0, 1):
            if messages(slave, queue) != messages(master, queue):
                raise Broken(f"{member.name}: queue {queue} is not that of the master")


def messages(broker: Broker, queue: int) -> list[tuple[int, bytes]]:
    """Queue offsets and bodies of all that can be read of a queue."""
    found: list[tuple[int, bytes]] = []
    at, end = broker.store.queue_min("t", queue), broker.store.queue_max("t", queue)
    while at < end:
        result = broker.store.get("t", queue, at, 100, bytes_max=1 << 30)
        read = [message for part in result.parts for message in decode_records(part)]
        found += [(message.queue_offset, message.body) for message in read]
        at = max(result.next_offset, at + 1)
    return found
