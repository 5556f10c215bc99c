"""A master and its slaves on a network that fails, and what has to hold after each step."""

from __future__ import annotations

import asyncio
import os
from json import loads
from pathlib import Path
from random import Random

from mqframe_replication.rules.in_sync import InSync
from mqframe_replication.settings import ReplicationSettings
from mqframe_testing.simulation import Simulation
from stories.machines import NAMES_PORT, SERVICES, a_send, bring_back, log_of, small_store
from trust.disk import Disk

from mqframe.broker.broker import Broker
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import MqframeError
from mqframe.net.client import Client

PORTS = {"master": 10911, "one": 10921, "two": 10931}


class Member:
    """One broker of the group, running or not. `name`: its host."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.life = 0
        self.broker: Broker | None = None
        self.compared = 0
        """Log offset up to which the log was found to be the master's, in this life."""
        self.seen = (0, 0)
        """Ends of log and of what may be read, as they were seen last."""
        self.reached = 0
        """How long the log ever was; the end of it may have been lost since."""


class Group:
    """All of it. The seed of `simulation` says what follows; `disk`: what takes note of writes, if any."""

    def __init__(self, folder: Path, simulation: Simulation, disk: Disk | None) -> None:
        self.chance = Random(f"group {simulation.seed}")
        self.simulation = simulation
        self.clock, self.network = simulation.clock, simulation.network
        self.folder = folder
        self.members = {"master": Member("master"), "one": Member("one")}
        if self.chance.random() < 0.4:
            self.members["two"] = Member("two")
        self.flush = self.chance.choice(("SYNC_FLUSH", "ASYNC_FLUSH"))
        self.role = self.chance.choice(("SYNC_MASTER", "SYNC_MASTER", "ASYNC_MASTER"))
        self.batch_bytes = self.chance.choice((37, 700, 32_768))
        self.hello = Random(f"hello {simulation.seed}").choice(("as_needed", "always"))
        self.lengths = self.chance.choice(((1, 300), (1, 300), (40, 40)))
        """Of bodies, in six bytes. Where all are alike, records of logs that differ have the same places."""
        self.disk = disk
        self.least = self.chance.choice((1, 1, 2))
        """Of brokers in sync, for messages to be taken; a SYNC_MASTER asks for two."""
        self.every = self.chance.random() < 0.3
        """Whether every slave in sync has to have a message."""
        self.readable = 0
        """Log offset up to which readers of a SYNC_MASTER may see messages; -1: all that it has."""
        self.acknowledged: dict[int, bytes] = {}
        """Bodies that SYNC_MASTER sends were told to be safe, by the log offset behind them."""
        self.problems: list[str] = []
        self.stored: list[bytes] = []
        self.count = 0

    # Members

    def names(self) -> list[str]:
        return list(self.members)

    def runs(self, name: str) -> bool:
        return self.members[name].broker is not None

    def settings(self, member: Member) -> BrokerSections:
        port, is_master = PORTS[member.name], member.name == "master"
        replication = ReplicationSettings(
            role=self.role if is_master else "SLAVE",
            id=0 if is_master else list(PORTS).index(member.name),
            batch_bytes=self.batch_bytes,
            hello=self.hello,
            min_in_sync=self.least,
            all_acknowledge=self.every,
        )
        directory = self.folder / f"{member.name}{member.life}"
        return BrokerSections(
            BrokerSettings(port=port, nameservers=(f"127.0.0.1:{NAMES_PORT}",)),
            small_store(directory, self.flush),
            replication=replication,
            services=SERVICES,
        )

    async def start(self, name: str) -> None:
        member, host = self.members[name], self.simulation.host(name)
        member.broker = Broker(self.settings(member), host.clock)
        self._watch_reports(member.broker)
        await host.run(member.broker.start())
        member.compared, member.seen = 0, (0, 0)
        if name == "master":
            for each in self.slaves():
                each.compared = 0

    def _watch_reports(self, broker: Broker) -> None:
        """See what a SYNC_MASTER knows of slaves, whenever it looks, and what its readers may see by that."""
        rule, store = broker.store.log.replicas, broker.store
        if rule is None:
            return
        assert isinstance(rule, InSync)
        known = rule.acknowledged
        self.readable = -1 if self.least == 1 else store.log.max_offset

        def look() -> list[int]:
            ends = list(known())
            self._note_ends()
            for end in ends:
                if all(member.reached < end for member in self.slaves()):
                    self.problems.append(f"no slave ever had {end} bytes, and the master counts on it")
            if not ends and self.least == 1:
                self.readable = -1
            elif ends:
                before = store.log.max_offset if self.readable < 0 else self.readable
                self.readable = max(before, min(ends) if self.every else max(ends))
            return ends

        rule.acknowledged = look

    def _note_ends(self) -> None:
        for member in self.members.values():
            if member.broker is not None:
                member.reached = max(member.reached, member.broker.store.log.max_offset)

    def slaves(self) -> list[Member]:
        return [each for name, each in self.members.items() if name != "master"]

    async def stop(self, name: str, *, kill: bool) -> None:
        self._note_ends()
        broker, self.members[name].broker = self.members[name].broker, None
        assert broker is not None
        host = self.simulation.host(name)
        host.resume()  # whoever ends a process that stands still lets it go on for that
        await host.run(broker.abandon() if kill else broker.stop())

    async def lose_power(self, name: str) -> str:
        """What was not synced may be gone, and nobody is told that the host is down. How it went."""
        assert self.disk is not None
        member, image = self.members[name], self.disk.left(self.chance)
        old = f"{name}{member.life}"
        self.network.lose_power(name)
        await self.stop(name, kill=True)
        member.life += 1
        bring_back(image, self.folder, old, f"{name}{member.life}")
        return image.how

    def spoil(self, name: str) -> None:
        """Turn bits in the middle of the log of a slave that does not run, if there is enough of it."""
        member = self.members[name]
        paths = sorted((self.folder / f"{name}{member.life}" / "commitlog").glob("[0-9]*"))
        if not paths:
            return
        path = paths[-1]
        end = len(path.read_bytes().rstrip(b"\0"))
        if end < 400:
            return
        descriptor = os.open(path, os.O_RDWR)
        os.pwrite(descriptor, b"\xff\x01\xff", self.chance.randrange(end - 3))
        os.close(descriptor)

    # Messages

    def send(self, client: Client) -> list[asyncio.Task[None]]:
        """Send one message to the master; what is answered is looked at the moment it comes."""
        self.count += 1
        body = b"%06d" % self.count * self.chance.randint(*self.lengths)
        request = a_send(self.count, self.clock.now_ms())

        async def ask() -> None:
            try:
                answer = await client.invoke(f"127.0.0.1:{PORTS['master']}", request, body, timeout=30)
            except MqframeError:
                return
            if answer.code == 0 and self.role == "SYNC_MASTER":
                self._acknowledged(body)

        return [asyncio.ensure_future(ask())]

    def _acknowledged(self, body: bytes) -> None:
        for member in self.slaves():
            log = b"" if member.broker is None else log_of(member.broker, 0)
            at = log.find(body)
            if at >= 0:
                self.acknowledged[at + len(body)] = body
                return
        if all(member.broker is not None for member in self.slaves()):
            raise AssertionError(f"{body[:6]!r} was acknowledged, and no slave has it")
        self.acknowledged[-self.count] = body

    # What has to hold

    def check(self) -> None:
        """Raise `AssertionError` for what does not hold now."""
        for wrong in self.problems:
            raise AssertionError(wrong)
        master = self.members["master"].broker
        for member in self.members.values():
            if member.broker is not None:
                self._check_alone(member, member.broker)
                if master is not None and member.name != "master":
                    self._check_copy(member, member.broker, master)

    def are_alike(self) -> bool:
        """Whether all that run have as much, and slaves follow."""
        brokers = [member.broker for member in self.members.values() if member.broker is not None]
        ends = {broker.store.log.max_offset for broker in brokers}
        return len(ends) == 1 and all(follows_now(broker) for broker in brokers[1:])

    def promised(self) -> object:
        return self.acknowledged

    def _check_alone(self, member: Member, broker: Broker) -> None:
        store = broker.store
        seen = store.log.max_offset, store.log.confirmed_offset
        if seen[0] < member.seen[0] or seen[1] < member.seen[1]:
            raise AssertionError(f"{member.name}: ends went back from {member.seen} to {seen}")
        member.seen = seen
        for topic, queue in store.queues:
            end = store.queues.max_offset(topic, queue)
            for place, size, _ in store.reads.entries(topic, queue, end - 1, 1):
                if size == 0x7FFFFFFF:
                    continue  # a filler stands for what this log has lost
                where = f"{member.name}: {topic}:{queue} shows {place}"
                if place + size > seen[1]:
                    raise AssertionError(f"{where}, confirmed is {seen[1]}")
                if store.log.replicas is not None and 0 <= self.readable < place + size:
                    raise AssertionError(f"{where}, slaves have {self.readable}")

    def _check_copy(self, member: Member, slave: Broker, master: Broker) -> None:
        if not follows_now(slave) or not self._is_heard(member):
            return
        start, end = member.compared, min(slave.store.log.max_offset, master.store.log.max_offset)
        if slave.store.log.max_offset > master.store.log.max_offset:
            raise AssertionError(
                f"{member.name} follows with {slave.store.log.max_offset - end} bytes more than the master"
            )
        theirs, mine = log_of(slave, start, end), log_of(master, start, end)
        if theirs != mine and not self.differs_in_holes(start, theirs, mine):
            raise AssertionError(f"{member.name}: the log differs between {start} and {end}")
        member.compared = end

    def differs_in_holes(self, start: int, theirs: bytes, mine: bytes) -> bool:
        """Whether a slave's log is the master's, from `start`, but for what the master has lost since.

        Starts of a master take out of the middle of its log what a loss of power left unsound there. A slave
        that has it keeps it (docs/spec/replication.md §1.6).
        """
        folder = self.folder / f"master{self.members['master'].life}" / "quarantine"
        reports = [loads(path.read_bytes()) for path in folder.glob("*.json")]
        holes = [(max(each["start"] - start, 0), each["end"] - start) for each in reports]
        return without(theirs, holes) == without(mine, holes)

    def _is_heard(self, member: Member) -> bool:
        """Whether what a slave follows is the master that runs now, not one that died without a word."""
        port = PORTS["master"] + 1
        sides = [side for pair in self.network.between(member.name, "master") for side in pair]
        return any(side.port == port and not side.is_dead for side in sides)


def follows_now(slave: Broker) -> bool:
    return slave.counters().get("replicationFollows") == "true"


def without(log: bytes, parts: list[tuple[int, int]]) -> bytes:
    """`log` with nothing but zeros in these places."""
    left = bytearray(log)
    for start, end in parts:
        size = len(left[start : max(end, start)])
        left[start : start + size] = bytes(size)
    return bytes(left)
