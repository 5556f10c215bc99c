"""A broker of an elected group: one that is made anew, on the same store and ports, when its role changes."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import attrs

from mqframe.broker.broker import Broker
from mqframe.broker.elected.disk_watch import DiskWatch
from mqframe.broker.elected.follower import FollowerPart
from mqframe.broker.elected.kept import KeptReplica
from mqframe.broker.elected.posts import FollowerPost, LeaderPost, Post
from mqframe.broker.holder import HeldMetrics
from mqframe.broker.sections import BrokerSections
from mqframe.core.election.group import LeaderNote, ReplicaNote
from mqframe.core.election.history import UNLED, EpochHistory
from mqframe.core.election.sync_set import SetLimits, SyncSet
from mqframe.core.election.term import LeaderTerm
from mqframe.core.errors import MqframeError, SettingError, StoreError
from mqframe.core.os_errors import told
from mqframe.hooks.interfaces.coordination import GroupPlace
from mqframe.hooks.manager import PluginManager
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe.replication.election_service import ElectionService
from mqframe.replication.election_settings import ElectionSettings
from mqframe.replication.reign import FollowerReplicas, LeaderReplicas
from mqframe.replication.settings import SLAVE, SYNC_MASTER
from mqframe.store.files.layout import Layout
from mqframe.store.message_store import MessageStore
from mqframe.store.upkeep.cutting import cut_log

log = get_logger("replication")
MakeBroker = Callable[[BrokerSections, Post], Broker | Awaitable[Broker]]
_CUT_WHY: Final = "the leader of a newer epoch does not have it: it was never acknowledged"


class ElectedBroker:
    """Serves as follower until it is elected, and again when another broker is.

    `boot`: names the boot of the machine, another text after each: what a failure of the machine may have
    taken is found by it. `make`: makes each `Broker`, of the settings of its role and its post, at once or in
    a while.

    Raises `SettingError` for settings of a group that cannot work.
    """

    def __init__(
        self,
        sections: BrokerSections,
        clock: LoopClock,
        plugins: PluginManager | None = None,
        *,
        boot: str,
        make: MakeBroker | None = None,
    ) -> None:
        self._sections = sections
        self._election = election = sections.election
        self._clock = clock
        self._plugins = plugins or PluginManager()
        self._boot = boot
        self._make_broker = make or self._at_once
        if not boot:
            raise SettingError(
                "replication.role = ELECTED: this system does not name the boot of the machine, by which a"
                " broker knows that a failure of it may have taken what was acknowledged; run it on Linux,"
                " with /proc"
            )
        self._run = secrets.token_hex(8)
        self._layout = Layout(sections.store.directory)
        self._kept = KeptReplica(sections.store.directory, uuid.uuid4().hex)
        self._note_start()
        self._post: Post = self._follower_post()
        self._broker: Broker | None = None
        self._starting: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._ended: Broker | None = None
        self._working = asyncio.Lock()
        self._leader: LeaderNote | None = None
        self._epoch = self._kept.epoch
        self._end = self._confirmed = 0
        self._is_whole = True
        self._address = ""
        self._task: asyncio.Task[None] | None = None
        self._cutting: asyncio.Task[None] | None = None
        me = sections.replication.id
        coordination = self._plugins.create("coordination", _chosen(election), None, clock)
        place = GroupPlace(sections.broker.cluster, sections.broker.name, me)
        limits = election.limits(sections.replication.min_in_sync)
        self.elector = ElectionService(coordination, place, self, clock, limits)
        self._disk = DiskWatch(clock, election.stall_ms / 1000, self._present_store, self.elector.ring)

    def _present_store(self) -> MessageStore | None:
        return None if self._broker is None else self._broker.store

    def _note_start(self) -> None:
        # A killed process leaves what it wrote to the system; only a failure of the machine takes that.
        may_lack = self._layout.abort.exists() and self._sections.store.flush != "SYNC_FLUSH"
        self._kept.opened(self._boot, may_lack=may_lack)

    # What others see

    @property
    def broker(self) -> Broker:
        """The broker as it is at the moment. Raises `StoreError` while its role changes."""
        if self._broker is None:
            raise StoreError("the role of this broker changes at the moment; ask again in a second")
        return self._broker

    @property
    def leads(self) -> bool:
        """Whether this broker leads, as far as it knows."""
        return isinstance(self._post, LeaderPost)

    @property
    def address(self) -> str:
        """The address that clients use, "host:port"; known once started."""
        return self._address

    @property
    def replication_address(self) -> str:
        """Where its log is copied while it leads, "host:port"; known once started."""
        host, _, port = self._address.rpartition(":")
        return f"{host}:{self._sections.replication.port or int(port) + 1}" if host else ""

    @property
    def is_registered(self) -> bool:
        """As `Broker.is_registered`."""
        return self._broker is not None and self._broker.is_registered

    @property
    def refusal(self) -> str:
        """As `Broker.refusal`; a follower takes no messages, and is well."""
        return "its role changes" if self._broker is None else self._broker.refusal

    def measure(self) -> HeldMetrics:
        """What monitoring is shown, whichever broker is there."""
        return HeldMetrics(self)

    # Life

    async def start(self) -> None:
        """Serve as follower, and take part in elections from then on. Raises as `Broker`, and its `start`."""
        async with self._working:
            await self._make(self._post)
            await self._begin()
        self._disk.start()
        self._task = asyncio.ensure_future(self.elector.run())

    async def stop(self) -> None:
        """Leave the elections, so that another one leads at once, and stop in good order."""
        await self._end_elections()
        async with self._working:
            await self._end_life(leave=True)

    async def abandon(self) -> None:
        """Stop as a killed process would. For tests."""
        self._disk.stop()
        for task in (self._task, self._cutting, self._starting, self._ending):
            if task is not None:
                task.cancel()
        broker, self._broker = self._broker or self._ended, None
        if broker is not None:
            await broker.abandon()

    async def _end_elections(self) -> None:
        self._disk.stop()
        for task in (self._task, self._cutting):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    # As the elections want it

    def note(self, ready: int) -> ReplicaNote:
        """As `Replica.note`."""
        self._look()
        kept = self._kept
        return ReplicaNote(
            id=self._sections.replication.id,
            epoch=kept.history.last_epoch,
            end=self._end,
            confirmed=self._confirmed,
            ready=ready,
            is_clean=kept.is_clean and self._is_whole,
            store=kept.store,
            address=self._address,
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
            # Copies only: what lacks a stretch in its middle is mended before it follows, and does not lead.
            self._is_whole = getattr(self._broker.store, "is_whole", True)
            self._end = self._broker.store.max_offset
            self._confirmed = max(self._confirmed, self._broker.store.confirmed_offset)

    async def lead(self, term: LeaderTerm) -> SyncSet:
        """As `Replica.lead`."""
        async with self._working:
            await self._end_life()
            epoch = term.state.epoch
            self._kept.heard(epoch)
            self._epoch, self._leader = epoch, None
            election = self._election
            limits = SetLimits(
                self._sections.replication.min_in_sync, election.lag_ms / 1000, election.away_ms / 1000
            )
            timeout = self._sections.replication.timeout_ms / 1000
            replicas = LeaderReplicas(term, self._clock, limits, timeout)
            opened = asyncio.Event()
            post = LeaderPost(self._kept, term, replicas, self.elector.ring, opened.set, self._group)
            broker = await self._make(post)
            # On disk before anything is stored in this epoch.
            self._kept.record(self._kept.history.begin(epoch, broker.store.max_offset))
            self._starting = asyncio.ensure_future(_in_words(broker.start()))
            waiting = asyncio.ensure_future(opened.wait())
            await asyncio.wait((self._starting, waiting), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if not opened.is_set():
                self._broker = None
                await self._starting
            self._starting.add_done_callback(self._led)
            assert replicas.members is not None
            return replicas.members

    def _led(self, starting: asyncio.Task[None]) -> None:
        problem = None if starting.cancelled() else starting.exception()
        if problem is not None:
            self._broker = None
            self.elector.resign(problem if isinstance(problem, MqframeError) else StoreError(repr(problem)))

    async def follow(self, leader: LeaderNote | None, epoch: int) -> None:
        """As `Replica.follow`."""
        async with self._working:
            if self.leads or self._broker is None:
                await self._end_life()
                await self._make(self._follower_post())
                await self._begin()
            self._kept.heard(epoch)
            self._leader, self._epoch = leader, max(epoch, self._epoch)
            self._part.follow(leader)

    def stop_storing(self) -> None:
        """As `Replica.stop_storing`."""
        if isinstance(self._post, LeaderPost):
            self._post.replicas.end()

    def left_set(self) -> None:
        """As `Replica.left_set`."""
        self._kept.cleaned()

    # One life of a broker after the other

    def _follower_post(self) -> FollowerPost:
        return FollowerPost(
            self._kept,
            FollowerReplicas(self._kept.confirmed),
            self._run,
            self._cut_soon,
            lambda: self.elector.seen.forced_epoch if self.elector.seen is not None else 0,
            lambda accepted: self.elector.force(accept_loss=accepted),
            lambda: self.elector.trouble,
            self._group,
        )

    def _at_once(self, sections: BrokerSections, post: Post) -> Broker:
        return Broker(sections, self._clock, self._plugins, post)

    async def _make(self, post: Post) -> Broker:
        """Open the store for `post`. Raises as `Broker`."""
        leads = isinstance(post, LeaderPost)
        replication: Any = self._sections.replication
        settings: Any = self._sections.broker
        sections = attrs.evolve(
            self._sections,
            broker=settings if leads else attrs.evolve(settings, services=()),
            replication=attrs.evolve(replication, role=SYNC_MASTER if leads else SLAVE),
        )
        try:
            making = self._make_broker(sections, post)
            broker = making if isinstance(making, Broker) else await making
        except StoreError as problem:
            self._disk.note(str(problem))
            raise
        self._post, self._broker = post, broker
        store = broker.store
        history = self._kept.history
        if not history.reigns and store.max_offset > store.min_offset:
            history = EpochHistory([(UNLED, store.min_offset)])
        self._kept.record(history.trim(store.min_offset).cut(store.max_offset))
        self._look()
        return broker

    async def _begin(self) -> None:
        """Start the broker that was made. Raises as `Broker.start`; there is none then."""
        assert self._broker is not None
        try:
            await _in_words(self._broker.start())
        except BaseException:
            self._broker = None
            raise
        self._address = self._broker.address
        port = int(self._address.rpartition(":")[2])
        if port != self._sections.broker.port:
            settings: Any = self._sections.broker
            self._sections = attrs.evolve(self._sections, broker=attrs.evolve(settings, port=port))

    async def _end_life(self, *, leave: bool = False) -> None:
        """Stop the broker, if there is one. Name servers are told by its next registration, or `leave`."""
        self._look()
        self.stop_storing()
        broker, self._broker = self._broker, None
        starting, self._starting = self._starting, None
        if starting is not None and not starting.done():
            starting.remove_done_callback(self._led)
            starting.cancel()
            self._ending, self._ended = starting, broker
        elif broker is not None:
            self._ending, self._ended = asyncio.ensure_future(broker.stop(leave=leave)), broker
        if self._ending is not None:
            # To its end, also when whoever waits is told to stop: else nobody could open the store again.
            await asyncio.wait({self._ending})
            ending, self._ending, self._ended = self._ending, None, None
            if not ending.cancelled() and isinstance(problem := ending.exception(), Exception):
                log.error("a broker did not stop in good order", problem=repr(problem))
        self._kept.told_confirmed(min(self._confirmed, self._end))

    def _cut_soon(self, offset: int) -> None:
        if self._cutting is None or self._cutting.done():
            self._cutting = asyncio.ensure_future(self._cut(offset))

    async def _cut(self, offset: int) -> None:
        async with self._working:
            if self.leads or self._broker is None:
                return
            await self._end_life()
            try:
                cut = cut_log(
                    self._sections.store.directory, offset, why=_CUT_WHY, now_ms=self._clock.now_ms()
                )
                log.warning(
                    "the end of this log was cut off; what was cut is kept",
                    start=cut.start, end=cut.end, records=cut.records, file=cut.file,
                )  # fmt: skip
                self._kept.forget_confirmed(offset)
                self._confirmed = min(self._confirmed, offset)
                await self._make(self._follower_post())
                await self._begin()
            except MqframeError as problem:
                self.elector.resign(problem)
                return
            self._part.follow(self._leader)

    @property
    def _part(self) -> FollowerPart:
        return self.broker.part(FollowerPart)


def _chosen(election: ElectionSettings) -> str:
    if not election.coordination:
        raise SettingError(
            "replication.role = ELECTED needs election.coordination: the name of the engine where the group"
            " keeps who leads it, for example etcd (mqframe-plugin-etcd), or sqlite on one machine"
        )
    return election.coordination


async def _in_words(starting: Coroutine[Any, Any, None]) -> None:
    try:
        await starting
    except OSError as problem:
        raise StoreError(f"this broker cannot serve: {told(problem)}") from problem
