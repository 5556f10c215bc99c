"""A broker of an elected group: it serves as follower until it is elected, and again when another one is."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import uuid
from collections.abc import Iterator
from typing import Any, Final

import attrs
from mqframe_replication.sections import replication_of
from mqframe_replication.settings import SLAVE, SYNC_MASTER
from mqframe_replication.store.cutting import cut_log
from mqframe_replication.store.replica_log import ReplicaLog

from mqframe.broker.broker import Broker
from mqframe.broker.host import BrokerHost
from mqframe.broker.sections import BrokerSections
from mqframe.core.errors import MqframeError, SettingError, StoreError
from mqframe.core.os_errors import told
from mqframe.hooks.interfaces.coordination import GroupPlace
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe.store.files.layout import Layout
from mqframe.store.upkeep.store_disk import StoreDisk
from mqframe_election.broker.disk_watch import DiskWatch
from mqframe_election.broker.elected_role import RoleInGroup
from mqframe_election.broker.election_service import ElectionService
from mqframe_election.broker.follower import FollowerPart
from mqframe_election.broker.replica_state import ReplicaState
from mqframe_election.broker.roles import ElectedRole, FollowerRole, LeaderRole
from mqframe_election.rules.group import LeaderNote, ReplicaNote
from mqframe_election.rules.history import UNLED, EpochHistory
from mqframe_election.rules.replicas import FollowerReplicas, LeaderReplicas
from mqframe_election.rules.sync_set import SetLimits, SyncSet
from mqframe_election.rules.term import LeaderTerm
from mqframe_election.settings import ElectionSettings

log = get_logger("replication")
_CUT_WHY: Final = "the leader of a newer epoch does not have it: it was never acknowledged"


class RoleByElection:
    """The `RoleDecider` of a broker of a group: its elector says who leads. What elections call a `Replica`.

    `boot`: names the boot of the machine, another text after each: what a failure of the machine may have
    taken is found by it. Raises `SettingError` for settings of a group that cannot work.
    """

    host: BrokerHost

    def __init__(
        self, sections: BrokerSections, clock: LoopClock, plugins: PluginManager, *, boot: str
    ) -> None:
        self._sections = sections
        self._election = election = sections.section(ElectionSettings)
        self._replication = replication_of(sections)
        self._clock = clock
        self._boot = boot
        self._plugins = plugins
        if not boot:
            raise SettingError(
                "replication.role = ELECTED: this system does not name the boot of the machine, by which a"
                " broker knows that a failure of it may have taken what was acknowledged; run it on Linux,"
                " with /proc"
            )
        self._process = secrets.token_hex(8)
        self._replica = ReplicaState(sections.store.directory, uuid.uuid4().hex)
        self._note_start()
        self._role: ElectedRole = self._follower_role()
        self._leader: LeaderNote | None = None
        self._epoch = self._replica.epoch
        self._end = self._confirmed = 0
        self._is_whole = True
        self._task: asyncio.Task[None] | None = None
        self._cutting: asyncio.Task[None] | None = None
        me = self._replication.id
        coordination = plugins.create("coordination", _chosen(election), None, clock)
        place = GroupPlace(sections.broker.cluster, sections.broker.name, me)
        limits = election.limits(self._replication.min_in_sync)
        self.elector = ElectionService(coordination, place, self, clock, limits)
        self._disk = DiskWatch(clock, election.stall_ms / 1000, self._present_disk, self.elector.ring)

    def _note_start(self) -> None:
        # A killed process leaves what it wrote to the system; only a failure of the machine takes that.
        store = self._sections.store
        may_lack = Layout(store.directory).abort.exists() and store.flush != "SYNC_FLUSH"
        self._replica.opened(self._boot, may_lack=may_lack)

    @property
    def _broker(self) -> Broker | None:
        return self.host.present

    def _present_disk(self) -> StoreDisk | None:
        return None if self._broker is None else self._broker.store.disk

    @property
    def leads(self) -> bool:
        """Whether this broker leads, as far as it knows."""
        return isinstance(self._role, LeaderRole)

    @property
    def replication_address(self) -> str:
        """Where its log is copied while it leads, "host:port"; known once started."""
        host, _, port = self.host.address.rpartition(":")
        return f"{host}:{replication_of(self._sections).port or int(port) + 1}" if host else ""

    # As the host wants it

    async def start(self) -> None:
        """As `RoleDecider.start`: serve as follower, and take part in elections from then on."""
        async with self.host.changing:
            await self._make(self._role)
            await self._serve()
        self._disk.start()
        self._task = asyncio.ensure_future(self.elector.run())

    async def stop(self) -> None:
        """As `RoleDecider.stop`: leave the elections, so that another one leads at once."""
        self._disk.stop()
        for task in (self._task, self._cutting):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        async with self.host.changing:
            await self._end_broker(leave=True)

    def abandon(self) -> None:
        """As `RoleDecider.abandon`."""
        self._disk.stop()
        for task in (self._task, self._cutting):
            if task is not None:
                task.cancel()

    @property
    def pause(self) -> str:
        """As `RoleDecider.pause`; a follower takes no messages, and is well."""
        return "its role changes" if self._broker is None else ""

    # As the elections want it

    def note(self, ready: int) -> ReplicaNote:
        """As `Replica.note`."""
        self._look()
        replica = self._replica
        return ReplicaNote(
            id=self._replication.id,
            epoch=replica.history.last_epoch,
            end=self._end,
            confirmed=self._confirmed,
            ready=ready,
            is_clean=replica.is_clean and self._is_whole,
            store=replica.store,
            address=self.host.address,
            replication_address=self.replication_address,
            unable=self._disk.why,
            has_room=self._disk.has_room,
        )

    def _group(self) -> dict[int, str]:
        return self.elector.brokers

    def unable_now(self) -> str:
        """As `Replica.unable_now`."""
        return self._disk.now

    def _look(self) -> None:
        """Note what the store is like, for while it is closed."""
        if self._broker is not None:
            store = self._broker.store
            # Copies only: what lacks a stretch in its middle is mended before it follows, and does not lead.
            self._is_whole = not isinstance(store.replica, ReplicaLog) or store.replica.is_whole
            self._end = store.log.max_offset
            self._confirmed = max(self._confirmed, store.log.confirmed_offset)

    async def lead(self, term: LeaderTerm) -> SyncSet:
        """As `Replica.lead`."""
        async with self.host.changing:
            await self._end_broker()
            epoch = term.state.epoch
            self._replica.heard(epoch)
            self._epoch, self._leader = epoch, None
            election = self._election
            limits = SetLimits(self._replication.min_in_sync, election.lag_ms / 1000, election.away_ms / 1000)
            timeout = self._replication.timeout_ms / 1000
            replicas = LeaderReplicas(term, self._clock, limits, timeout)
            opened = asyncio.Event()
            elector = self.elector
            role = LeaderRole(
                self._replica, term, replicas, elector.ring, opened.set, self._group, elector.hand_over
            )
            broker = await self._make(role)
            # On disk before anything is stored in this epoch.
            self._replica.record(self._replica.history.begin(epoch, broker.store.log.max_offset))
            with _store_errors():
                await self.host.serve_once(opened, self._failed)
            assert replicas.members is not None
            return replicas.members

    def _failed(self, problem: BaseException) -> None:
        if isinstance(problem, OSError):
            problem = _unserved(problem)
        self.elector.resign(problem if isinstance(problem, MqframeError) else StoreError(repr(problem)))

    async def follow(self, leader: LeaderNote | None, epoch: int) -> None:
        """As `Replica.follow`."""
        async with self.host.changing:
            if self.leads or self._broker is None:
                await self._end_broker()
                await self._make(self._follower_role())
                await self._serve()
            self._replica.heard(epoch)
            self._leader, self._epoch = leader, max(epoch, self._epoch)
            self._part.follow(leader)

    def take_messages(self, heir: int) -> None:
        """As `Replica.take_messages`."""
        if isinstance(self._role, LeaderRole):
            self._role.replicas.heir = heir

    def stop_storing(self) -> None:
        """As `Replica.stop_storing`."""
        if isinstance(self._role, LeaderRole):
            self._role.replicas.end()

    def left_set(self) -> None:
        """As `Replica.left_set`."""
        self._replica.cleaned()

    # One broker after the other

    def _follower_role(self) -> FollowerRole:
        return FollowerRole(
            self._replica,
            FollowerReplicas(self._replica.confirmed),
            self._process,
            self._cut_soon,
            lambda: self.elector.seen.forced_epoch if self.elector.seen is not None else 0,
            lambda accepted: self.elector.force(accept_loss=accepted),
            lambda: self.elector.trouble,
            self._group,
        )

    async def _make(self, role: ElectedRole) -> Broker:
        """Open the store for `role`. Raises as `Broker`."""
        leads = isinstance(role, LeaderRole)
        replication: Any = replication_of(self._sections)
        settings: Any = self._sections.broker
        before: Any = self._sections
        sections: BrokerSections = attrs.evolve(
            before,
            broker=settings if leads else attrs.evolve(settings, services=()),
            replication=attrs.evolve(replication, role=SYNC_MASTER if leads else SLAVE),
        )
        try:
            broker = await self.host.make(sections, RoleInGroup(replication_of(sections), role))
        except StoreError as problem:
            self._disk.note(str(problem))
            raise
        self._role = role
        store = broker.store
        history = self._replica.history
        if not history.terms and store.log.max_offset > store.log.min_offset:
            history = EpochHistory([(UNLED, store.log.min_offset)])
        self._replica.record(history.trim(store.log.min_offset).cut(store.log.max_offset))
        self._look()
        return broker

    async def _serve(self) -> None:
        """Start the broker that was made. Raises as `Broker.start`; there is none then."""
        with _store_errors():
            await self.host.serve()
        self._sections = self.host.on_its_ports(self._sections)

    async def _end_broker(self, *, leave: bool = False) -> None:
        """Stop the broker, if there is one. Name servers are told by its next registration, or `leave`."""
        self._look()
        self.stop_storing()
        problem = await self.host.end(leave=leave)
        if problem is not None:
            log.error("a broker did not stop in good order", problem=repr(problem))
        self._replica.confirmed_to(min(self._confirmed, self._end))

    def _cut_soon(self, offset: int) -> None:
        if self._cutting is None or self._cutting.done():
            self._cutting = asyncio.ensure_future(self._cut(offset))

    async def _cut(self, offset: int) -> None:
        async with self.host.changing:
            if self.leads or self._broker is None:
                return
            await self._end_broker()
            try:
                services, root = self._plugins.cut_backs(), self._sections.store.directory
                cut = cut_log(root, offset, services, why=_CUT_WHY, now_ms=self._clock.now_ms())
                log.warning(
                    "the end of this log was cut off; what was cut is kept",
                    start=cut.start, end=cut.end, records=cut.records, file=cut.file,
                )  # fmt: skip
                self._replica.forget_confirmed(offset)
                self._confirmed = min(self._confirmed, offset)
                await self._make(self._follower_role())
                await self._serve()
            except MqframeError as problem:
                self.elector.resign(problem)
                return
            self._part.follow(self._leader)

    @property
    def _part(self) -> FollowerPart:
        return self.host.broker.part(FollowerPart)


def _chosen(election: ElectionSettings) -> str:
    if not election.coordination:
        raise SettingError(
            "replication.role = ELECTED needs election.coordination: the name of the engine where the group"
            " keeps who leads it, for example etcd (mqframe-plugin-etcd), or sqlite on one machine"
        )
    return election.coordination


def _unserved(problem: OSError) -> StoreError:
    return StoreError(f"this broker cannot serve: {told(problem)}")


@contextlib.contextmanager
def _store_errors() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise _unserved(problem) from problem
