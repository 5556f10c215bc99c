"""One broker's part in the elections of its group: it asks the engine, and says what the broker is to do.

All decisions are rules of `mqframe.core.election`. Here is their order: a lease, a look at what the engine
holds, a claim, a change of the set; and what an answer that did not come means (election.md §6).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Iterable
from typing import Final

from mqframe.core.election.ability import Abdication, successors
from mqframe.core.election.claiming import Candidate, candidate, forced
from mqframe.core.election.group import GroupState, LeaderNote, ReplicaNote, decode_note, encode_note
from mqframe.core.election.lease import Lease, LeaseTimes
from mqframe.core.election.sync_set import SyncSet
from mqframe.core.errors import (
    BadAnswer,
    CallTimeout,
    CoordinationError,
    FixError,
    MqframeError,
    SettingError,
)
from mqframe.hooks.interfaces.coordination import Coordination, GroupPlace, Snapshot
from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock, within
from mqframe.replication.reigning import ElectionLimits, Reigning, Replica
from mqframe.trouble import Trouble

log = get_logger("replication")
RETRY_SECONDS: Final = 1.0
_LAST_SHARE: Final = 5
"""So many times as long as others a broker waits that cannot store, before it leads all the same."""


class Elector:
    """Runs until it is cancelled.

    `trouble`: why the group cannot be looked after at the moment, empty normally; `seen`: what the engine
    held last; `leader`: who leads, as it says; `brokers`: where the brokers of the group are, by number,
    "host:port", empty for those that are not there.
    """

    def __init__(
        self,
        coordination: Coordination,
        place: GroupPlace,
        replica: Replica,
        clock: LoopClock,
        limits: ElectionLimits,
    ) -> None:
        self._coordination = coordination
        self._place = place
        self._me = place.member
        self._replica = replica
        self._clock = clock
        self._limits = limits
        self._claims: dict[str, Lease] = {}
        self._reigning: Reigning | None = None
        self._set: SyncSet | None = None
        self._abdication = Abdication()
        self._said_unable = ""
        self._ready = 0
        self._leaderless_since: float | None = None
        self._lost = self._is_open = False
        self._wake, self._looked = asyncio.Event(), asyncio.Event()
        self._is_answered = True
        self.trouble = ""
        self._told = Trouble(log, clock.monotonic, level=logging.ERROR)
        self.seen: GroupState | None = None
        self.leader: LeaderNote | None = None
        self.brokers: dict[int, str] = {}

    def ring(self) -> None:
        """Look at the group soon: acknowledgements, or connections, changed what the set should be."""
        self._wake.set()

    def resign(self, problem: MqframeError) -> None:
        """Leave, and begin anew: this broker cannot go on as what it is."""
        self._tell(str(problem))
        self._lost = True
        self._wake.set()

    @property
    def reigning(self) -> Reigning | None:
        """The reign of this broker; `None` while it has none."""
        return self._reigning

    async def run(self) -> None:
        """Take part in elections until cancelled; the engine is told that the broker leaves."""
        try:
            while True:
                try:
                    await self._session()
                except MqframeError as problem:
                    self._tell(str(problem))
                except Exception as problem:  # isolation boundary: this broker is to take part again
                    log.exception("elections failed")
                    self._tell(repr(problem))
                await self._end_reign()
                await self._leave()
                await self._clock.sleep(RETRY_SECONDS)
        finally:
            await self._leave()

    async def _leave(self) -> None:
        """Let others lead at once, where the engine can be told so; else when the lease is over."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            await self._coordination.step_down()
            await self._coordination.stop()
        except CoordinationError as problem:
            log.warning("the engine was not told that this broker leaves", problem=str(problem))

    def _tell(self, trouble: str) -> None:
        if trouble:
            event = "the group of this broker cannot be looked after"
            self._told.note(event, kind=trouble, may_pass=True, problem=trouble)
        else:
            self._told.over("the group of this broker is looked after again")
        self.trouble = trouble

    async def _end_reign(self) -> None:
        """As `_depose`; what the broker cannot become now it becomes when the group is looked at again."""
        try:
            await self._depose()
        except MqframeError as problem:
            self._tell(str(problem))

    async def _depose(self) -> None:
        """End the reign of this broker, if it has one."""
        self._set, reigning, self._reigning = None, self._reigning, None
        self._claims.clear()
        if reigning is not None:
            log.warning("this broker leads no more", epoch=reigning.state.epoch)
            await self._replica.follow(None, reigning.state.epoch)

    async def force(self, *, accept_loss: bool) -> GroupState:
        """Have this broker lead with what it has, upon an operator's word. The state before that.

        Without `accept_loss` nothing is changed. Raises `FixError` where that is not needed, and
        `CoordinationError`.
        """
        snapshot, _ = await self._read()
        state, mine = self.seen, self._replica.note(self._ready)
        if self.leader is not None:
            raise FixError(f"broker {self.leader.id} leads in epoch {self.leader.epoch}: force nobody")
        if state is None:
            raise FixError("this group never had a leader; it takes who has most of the log by itself")
        if self._me in state.members and mine.is_clean:
            raise FixError(
                f"broker {self._me} was in sync when epoch {state.epoch} ended, it is elected without force"
            )
        if accept_loss:
            note = (
                f"broker {self._me}, whose log ended at {mine.end}, was forced to lead after epoch"
                f" {state.epoch}: {state.confirmed} was confirmed at least, and broker"
                f" {_listed(state.members)} had it"
            )
            log.warning("an operator forces an election", note=note)
            after = encode_note(forced(state, self._me, note))
            if not await self._coordination.force(self._place, after, snapshot.version):
                raise CoordinationError("the group has changed meanwhile; look again", maybe_stored=False)
            self._replica.left_set()
            self._wake.set()
        return state

    # A session: from the opening of a lease until it is lost

    async def _session(self) -> None:
        sent = self._clock.monotonic()
        granted = await self._coordination.start(self._place, self._limits.lease)
        self._is_open = True
        lease = Lease(LeaseTimes(granted, self._limits.renew, self._limits.margin), sent)
        self._ready, self._leaderless_since, self._lost = 0, None, False
        await self._check_number()
        await self._announce()
        renewals = Every(self._clock, self._limits.renew, lambda: self._renew(lease), name="lease")
        watching = asyncio.ensure_future(self._watch())
        try:
            while not self._lost:
                self._wake.clear()
                await self._turn(lease)
                self._looked.set()
                await self._until_woken()
        finally:
            renewals.stop()
            watching.cancel()
        raise CoordinationError(
            self.trouble or "the lease of this broker was lost; it opens another one", maybe_stored=False
        )

    async def _until_woken(self) -> None:
        with contextlib.suppress(CallTimeout):  # a look from time to time, whatever the watch missed
            await within(self._clock, self._limits.renew, self._wake.wait())

    async def _watch(self) -> None:
        while True:
            try:
                await self._coordination.changed()
            except CoordinationError:
                await self._clock.sleep(RETRY_SECONDS)
            self._looked.clear()
            self._wake.set()
            # What was not read yet has changed still: to ask again before would be to ask without an end.
            await self._looked.wait()
            if not self._is_answered:
                await self._clock.sleep(RETRY_SECONDS)

    async def _renew(self, lease: Lease) -> None:
        sent = self._clock.monotonic()
        try:
            if await self._coordination.renew():
                lease.renewed(sent)
                await self._announce()
                return
        except CoordinationError as problem:
            self._tell(str(problem))
            return
        self._lost = True
        self._wake.set()

    async def _announce(self) -> None:
        note = self._replica.note(self._ready)
        await self._coordination.announce(encode_note(note))
        self._said_unable = note.unable

    async def _check_number(self) -> None:
        """Raises `SettingError` when another broker has this one's number."""
        other = (await self._read())[1].get(self._me)
        mine = self._replica.note(0)
        if other is not None and other.store != mine.store:
            raise SettingError(
                f"replication.id = {self._me} of {self._place.broker} is that of another broker, at"
                f" {other.address}: give each broker of the group a number of its own"
            )

    async def _read(self) -> tuple[Snapshot, dict[int, ReplicaNote]]:
        snapshot = await self._coordination.read()
        self._looked.set()
        self.seen = None if snapshot.state is None else decode_note(snapshot.state, GroupState)
        self.leader = None if snapshot.leader is None else decode_note(snapshot.leader, LeaderNote)
        replicas: dict[int, ReplicaNote] = {}
        for number, data in snapshot.replicas.items():
            try:
                replicas[number] = decode_note(data, ReplicaNote)
            except BadAnswer as problem:
                log.warning(
                    "a broker of the group says what cannot be read", broker=number, problem=str(problem)
                )
        known = () if self.seen is None else {*self.seen.known, *self.seen.members}
        self.brokers = dict.fromkeys(known, "") | {each: note.address for each, note in replicas.items()}
        return snapshot, replicas

    async def _turn(self, lease: Lease) -> None:
        self._is_answered = False
        try:
            if self._replica.note(self._ready).unable != self._said_unable:
                await self._announce()
            snapshot, replicas = await self._read()
            self._is_answered = True
            if self._reigning is not None:
                await self._reign(snapshot, replicas)
                self._tell("")
            else:
                self._tell(await self._look_for_leader(snapshot, replicas, lease))
        except CoordinationError as problem:
            self._tell(str(problem))

    # As leader

    async def _reign(self, snapshot: Snapshot, replicas: dict[int, ReplicaNote]) -> None:
        members, leader = self._set, self.leader
        assert members is not None
        is_mine = leader is not None and leader.claim in self._claims
        if not is_mine or self.seen is None or self._me not in self.seen.members:
            await self._depose()
            return
        if snapshot.version != members.version:
            # What was sent without an answer took effect, or nothing that was sent still can.
            members.settled(self.seen, snapshot.version)
        mine, now = self._replica.note(0), self._clock.monotonic()
        members.unable = frozenset(number for number, note in replicas.items() if note.unable) - {self._me}
        keeping_up = members.keeping_up(mine.end, now)
        others = successors(members.state, replicas, keeping_up, self._limits.members_min)
        if self._abdication.is_due(unable := self._replica.unable_now(), others, now):
            await self._abdicate(unable, others)
        else:
            await self._look_after_set(members, mine.end, now)

    async def _abdicate(self, why: str, others: Iterable[int]) -> None:
        """Give up the lead, and only then stop what leads: a disk that does not answer may hold that up."""
        log.error("this broker gives up the lead, for it cannot store", problem=why, others=_listed(others))
        self._replica.stop_storing()
        try:
            await self._coordination.step_down()
        except CoordinationError:
            self._lost = True  # it may lead still, as the engine says: that ends with the lease
            raise
        await self._depose()

    async def _look_after_set(self, members: SyncSet, end: int, now: float) -> None:
        wanted = members.pending or members.wanted(end, now)
        if wanted is None:
            return
        members.sent(wanted)
        # Without an answer it stays pending, and is sent again with the version as it is read then: so the
        # first one either was this version's change, or can be none any more.
        version = await self._coordination.change(encode_note(wanted), members.version)
        if version:
            log.info("the set in sync changed", members=wanted.members, epoch=wanted.epoch)
            members.settled(wanted, version)
        self._wake.set()  # what was counted on changed; or it was refused, and is to be read again

    # As anyone else

    async def _look_for_leader(
        self, snapshot: Snapshot, replicas: dict[int, ReplicaNote], lease: Lease
    ) -> str:
        """What prevents this broker from leading where nobody does; empty: nothing, or somebody does."""
        state, leader = self.seen, self.leader
        epoch = state.epoch if state is not None else 0
        if state is not None and self._me not in state.members:
            self._replica.left_set()
        if leader is not None and state is not None and leader.claim in self._claims:
            await self._begin(state, snapshot.version, self._claims[leader.claim])
            return ""
        if leader is not None:
            self._leaderless_since = None
            # A claim of this broker's last life ends with the lease that it had then.
            await self._replica.follow(None if leader.id == self._me else leader, epoch)
            return ""
        now = self._clock.monotonic()
        if self._leaderless_since is None or self._ready < epoch or self._me not in replicas:
            self._leaderless_since = now if self._leaderless_since is None else self._leaderless_since
            await self._replica.follow(None, epoch)
            self._ready = epoch
            await self._announce()
            snapshot, replicas = await self._read()
            if self.leader is not None or self._me not in replicas:
                self._wake.set()
                return ""
        found = candidate(self._me, self.seen, replicas, self._limits.members_min)
        if found.state is None:
            return found.why
        if not lease.is_trusted(self._clock.monotonic()):
            return "the engine did not renew the lease of this broker in time; it claims nothing before that"
        if self._may_claim_now(found, state is None, now):
            await self._claim(found.state, snapshot, lease)
        else:
            self._clock.call_later(self._limits.patience / 4, self._wake.set)
        return ""

    def _may_claim_now(self, found: Candidate, is_first: bool, now: float) -> bool:
        assert self._leaderless_since is not None
        waited = now - self._leaderless_since
        if is_first:
            return waited >= self._limits.first * (1 if found.at_once else 2)
        return found.at_once or waited >= self._limits.patience * (_LAST_SHARE if found.is_last else 1)

    async def _claim(self, state: GroupState, snapshot: Snapshot, lease: Lease) -> None:
        note = self._replica.note(self._ready)
        word = secrets.token_hex(8)
        leader = LeaderNote(self._me, state.epoch, note.address, note.replication_address, word)
        self._claims[word] = lease
        version = await self._coordination.claim(encode_note(state), encode_note(leader), snapshot.version)
        # Refused, or without an answer: the next look tells who leads.
        self._wake.set()
        if version:
            await self._begin(state, version, lease)

    async def _begin(self, state: GroupState, version: int, lease: Lease) -> None:
        if not lease.is_trusted(self._clock.monotonic()):
            await self._coordination.step_down()
            return
        log.info("this broker leads", epoch=state.epoch, members=state.members)
        self._reigning = Reigning(state, version, lease)
        self._leaderless_since = None
        try:
            self._set = await self._replica.lead(self._reigning)
        except MqframeError:
            await self._coordination.step_down()
            await self._depose()
            raise


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
