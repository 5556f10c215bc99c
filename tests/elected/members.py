"""The brokers of an elected group in a simulation, each on a host and with a disk of its own."""

from __future__ import annotations

from json import loads
from pathlib import Path
from random import Random
from typing import Any

from mqframe_election.broker.role_by_election import RoleByElection
from mqframe_election.rules.history import EpochHistory
from mqframe_election.settings import ElectionSettings
from mqframe_replication.settings import ReplicationSettings
from mqframe_testing.coordination import MemoryCoordination, MemoryEngine
from mqframe_testing.simulation import FailingCoordination, Simulation
from stories.machines import NAMES_PORT, SERVICES, bring_back, small_store
from trust.disk import Disk

from mqframe import hookimpl
from mqframe.broker.broker import Broker
from mqframe.broker.host import BrokerHost
from mqframe.broker.roles.group_role import GroupRole
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import CoordinationError, StoreError
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock

NUMBERS = {"one": 1, "two": 2, "three": 3}


class Mortal(FailingCoordination):
    """The way of one process to the engine: what is dead says no farewell."""

    is_dead = False

    async def step_down(self) -> None:
        self._check_alive()
        await super().step_down()

    async def stop(self) -> None:
        self._check_alive()
        await super().stop()

    def _check_alive(self) -> None:
        if self.is_dead:
            raise CoordinationError("this process is dead", maybe_stored=False)


class Member:
    """One broker of the group, running or not. `name`: its host."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = NUMBERS[name]
        self.port = 10_901 + 10 * self.number
        self.disk_life = 0
        self.boot = 0
        self.process = 0
        self.way: Mortal | None = None
        self.broker: BrokerHost | None = None
        self.election: RoleByElection | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def folder(self) -> str:
        return f"{self.name}{self.disk_life}"

    @property
    def inner(self) -> Broker | None:
        """The broker of the role that it has; `None` while it has none, or does not run."""
        try:
            return None if self.broker is None else self.broker.broker
        except StoreError:
            return None

    @property
    def leads(self) -> bool:
        """Whether it leads, as far as it knows."""
        return self.inner is not None and self.election is not None and self.election.leads

    @property
    def epoch(self) -> int:
        """The newest that it knows."""
        return 0 if self.inner is None else int(self.inner.counters()["replicationEpoch"])


class Engine:
    """The coordination of the group, and how members reach it."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.memory = MemoryEngine(simulation.clock)

    def plugins(self, member: Member) -> PluginManager:
        host = self.simulation.host(member.name)

        class Plugin:
            @hookimpl
            def register_coordinations(self) -> Any:
                return {"memory": make}

        def make(clock: LoopClock) -> Mortal:
            inner = MemoryCoordination(self.memory, clock)
            member.way = Mortal(inner, self.simulation.network, host)
            return member.way

        plugins = PluginManager()
        plugins.register(Plugin(), "stories")
        return plugins


class Members:
    """All of a group. `flush` and the rest of the settings are those of each; `disk`: what is written is
    recorded there, so that power can fail."""

    def __init__(self, folder: Path, simulation: Simulation, count: int, disk: Disk | None) -> None:
        self.folder, self.simulation, self.disk = folder, simulation, disk
        self.all = {name: Member(name) for name in list(NUMBERS)[:count]}
        self.engine = Engine(simulation)
        self.flush = "ASYNC_FLUSH"
        self.replication: dict[str, Any] = {}

    def running(self) -> list[Member]:
        return [each for each in self.all.values() if each.broker is not None]

    def leaders(self) -> list[Member]:
        return [each for each in self.running() if each.leads]

    def sections(self, member: Member) -> BrokerSections:
        return BrokerSections(
            BrokerSettings(port=member.port, nameservers=(f"127.0.0.1:{NAMES_PORT}",)),
            small_store(self.folder / member.folder, self.flush),
            replication=ReplicationSettings(role="ELECTED", id=member.number, **self.replication),
            added=(ElectionSettings(coordination="memory"),),
            services=SERVICES,
        )

    async def start(self, name: str) -> None:
        member, host = self.all[name], self.simulation.host(name)
        member.process += 1
        plugins = self.engine.plugins(member)

        def make(sections: BrokerSections, role: GroupRole | None) -> Broker:
            return Broker(sections, host.clock, plugins, role)

        boot = f"{name} {member.boot}"
        member.election = RoleByElection(self.sections(member), host.clock, plugins, boot=boot)
        member.broker = BrokerHost(make, member.election)
        await host.run(member.broker.start())

    async def stop(self, name: str, *, kill: bool) -> None:
        member, host = self.all[name], self.simulation.host(name)
        broker, member.broker, member.election = member.broker, None, None
        assert broker is not None
        host.resume()  # whoever ends a process that stands still lets it go on for that
        if kill and member.way is not None:
            member.way.is_dead = True
        await host.run(broker.abandon() if kill else broker.stop())

    async def lose_power(self, name: str, chance: Random) -> str:
        """What was not synced may be gone, and nobody is told that the host is down. How it went."""
        assert self.disk is not None
        member, image = self.all[name], self.disk.left(chance)
        old = member.folder
        self.simulation.network.lose_power(name)
        await self.stop(name, kill=True)
        member.disk_life += 1
        member.boot += 1
        bring_back(image, self.folder, old, member.folder)
        return image.how

    # What lies on their disks

    def history(self, member: Member) -> EpochHistory:
        path = self.folder / member.folder / "epochFileCheckpoint"
        return EpochHistory.decode(path.read_bytes()) if path.exists() else EpochHistory()

    def set_aside(self, member: Member) -> list[tuple[int, int]]:
        """What starts of a member took out of its log, as log offsets."""
        paths = (self.folder / member.folder / "quarantine").glob("*.json")
        reports = [loads(path.read_bytes()) for path in paths]
        return [(each["start"], each["end"]) for each in reports]
