"""A follower of an elected group: it follows who leads, and cuts off what no leader has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from mqframe.broker.cluster.registration import MasterPlace, NameServerRegistration
from mqframe.broker.elected.posts import FollowerPost, told_brokers
from mqframe.broker.replication.slave import MasterUnknown, SlavePart
from mqframe.broker.sections import BrokerSections
from mqframe.broker.state import BrokerState
from mqframe.core.codes import ResponseCode
from mqframe.core.election.group import LeaderNote
from mqframe.core.election.history import UNLED, EpochHistory
from mqframe.core.errors import Refusal, StoreError
from mqframe.core.measuring.family import Kind, Metric, one
from mqframe.core.replication.hello import EpochStart, Hello, Welcome
from mqframe.core.requests.election import ForceElection, ForceElectionAnswer
from mqframe.core.requests.serving import Call, serves
from mqframe.net.client import Client
from mqframe.replication.epoch_follower import EpochFollower
from mqframe.replication.fetching import fetch
from mqframe.store.upkeep.quarantine import Report

LOOK_SECONDS: Final = 0.25
"""So soon a new leader is followed: it serves nobody before its set does."""
_TABLES_SHARE: Final = 5
"""So much oftener than other slaves followers copy tables: they may be asked to lead at any moment."""


class FollowerPart(SlavePart):
    """Follows the leader that it is told of, by a log that agrees with that one's."""

    _follower: EpochFollower

    def __init__(
        self,
        sections: BrokerSections,
        state: BrokerState,
        client: Client,
        registration: NameServerRegistration,
        post: FollowerPost,
    ) -> None:
        follower = partial(EpochFollower, replicas=post.replicas)
        super().__init__(sections, state, client, registration, follower)
        self._post = post
        self._leader: LeaderNote | None = None
        self._hello = msgspec.structs.replace(self._hello, boot=post.boot)
        self._dialer.introduce = self._introduce
        self._follower.epochs = post.kept
        self._follower.syncs = sections.store.flush == "SYNC_FLUSH"
        self._look_seconds = self._retry_seconds = LOOK_SECONDS
        self._tables_seconds /= _TABLES_SHARE
        state.identity.state_version = post.kept.epoch

    def follow(self, leader: LeaderNote | None) -> None:
        """Follow `leader`; `None`: nobody. On return nothing further is acknowledged to anybody else."""
        if leader != self._leader:
            self._leader = leader
            self._follower.close()
            self._next_try = 0.0

    def _introduce(self) -> Hello:
        kept = self._post.kept
        return msgspec.structs.replace(
            self._hello,
            end=self._store.log.max_offset,
            epoch=kept.epoch,
            history=tuple(EpochStart(*each) for each in kept.history.reigns),
            is_clean=kept.is_clean,
        )

    def refuses_readers(self) -> bool:
        """Whether readers have to wait, or to go to the leader.

        A start lists all that the log holds, confirmed or not; so may a topic that was made anew.
        """
        return self._store.dispatch.listed_offset > self._post.replicas.told or super().refuses_readers()

    async def _find(self) -> None:
        """Nothing to ask: the engine says who leads."""

    async def _choose_greeting(self, master: MasterPlace) -> None:
        """None to choose: leaders are told who follows, always."""

    def _place(self) -> MasterPlace:
        if self._leader is None:
            raise MasterUnknown(self._post.trouble() or "nobody leads this group at the moment")
        return MasterPlace(self._leader.address, self._leader.replication_address)

    async def _compare(self, master: MasterPlace, welcome: Welcome | None) -> None:
        assert welcome is not None, "this follower always says hello"
        kept, end = self._post.kept, self._store.log.max_offset
        if welcome.epoch < kept.epoch:
            raise StoreError(
                f"the leader at {master.replication_address} leads in epoch {welcome.epoch}, epoch"
                f" {kept.epoch} is known here: it is replaced"
            )
        kept.heard(welcome.epoch)
        self._follower.epoch = welcome.epoch
        history = kept.history.cut(end)
        if end:
            common = self._common(history, end, welcome)
            if common < end:
                self._cut(common, history)
            await self._compare_last(master, welcome)
        self._replica.missing.kept_from = welcome.start
        if self._follower.syncs and not await self._store.confirming.flush_log():
            raise StoreError("this log cannot be brought to disk: see the log, mend the disk")
        self._post.replicas.tell(welcome.confirmed)

    async def _compare_last(self, master: MasterPlace, welcome: Welcome) -> None:
        """Raises `StoreError` where the last record here is another one at the leader.

        Histories do not tell it of what was stored before there were epochs, nor where an engine that was
        emptied began to count them again.
        """
        last = self._replica.missing.last_record()
        if last is None or last[0] < welcome.start:
            return
        offset, record = last
        silent = self._settings.silent_ms / 1000
        stretch = offset, offset + len(record)
        there = await fetch(self._clock, master.replication_address, stretch, silent, self._dialer)
        if there != record:
            raise StoreError(
                f"the record at log offset {offset} is another one at the leader {master.address}: the logs"
                " differ, though their epochs do not tell. Nothing is cut. Keep this store, and start the"
                " broker with an empty one"
            )

    def _common(self, history: EpochHistory, end: int, welcome: Welcome) -> int:
        """Up to where this log and the leader's agree. Raises `StoreError` where it cannot follow."""
        theirs = EpochHistory(welcome.history)
        common = history.common_end(end, theirs, welcome.end)
        if common is None or common < welcome.start:
            raise StoreError(
                f"this log ({_told(history)}, up to {end}) and the leader's ({_told(theirs)}, from"
                f" {welcome.start} to {welcome.end}) have nothing in common: start this broker with an empty"
                " store, and keep this one where it may hold what was acknowledged"
            )
        return common

    def _cut(self, common: int, history: EpochHistory) -> None:
        """Have what lies behind `common` cut off. Raises `StoreError`, always: this life does not follow."""
        known = max(self._post.kept.confirmed, self._post.replicas.told)
        is_forced = self._post.forced_epoch() > history.last_epoch
        if not is_forced and (common < known or history.at(common) == UNLED):
            raise StoreError(
                f"the leader's log agrees with this one up to {common} only, and {known} was confirmed, or"
                " was stored before this group elected leaders: the engine was emptied, or a disk replaced."
                " Nothing is cut. Keep this store, and start the broker with an empty one"
            )
        common = last_whole(common, self._replica.missing.reports())
        self._post.cut(common)
        raise StoreError(f"what this log has behind {common} is cut off, for the leader does not have it")

    def counters(self) -> Mapping[str, str]:
        """As of a slave, with epoch, leader and what is confirmed."""
        leader = self._leader
        return {
            **super().counters(),
            "replicationEpoch": str(self._post.kept.epoch),
            "replicationLeader": "" if leader is None else str(leader.id),
            "replicationBrokers": told_brokers(self._post),
            "replicationConfirmed": str(self._store.log.confirmed_offset),
        }

    async def metrics(self) -> Sequence[Metric]:
        """As of a slave, with the epoch."""
        epoch = one("mqframe_replication_epoch", Kind.GAUGE, "Newest known.", self._post.kept.epoch)
        return (*await super().metrics(), epoch)

    @serves(ForceElection)
    async def force_election(self, fields: ForceElection, call: Call) -> ForceElectionAnswer:
        if fields.accept_loss and not self._replica.is_whole:
            # Others have what is missing, in the same epochs: they would follow, and never be alike.
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                "a part in the middle of this broker's log was damaged and set aside, so it cannot lead:"
                " force another broker of the group, this one fetches from it what is missing",
            )
        state = await self._post.force(fields.accept_loss)
        return ForceElectionAnswer(
            epoch=state.epoch,
            end=self._store.log.max_offset,
            confirmed=state.confirmed,
            members=",".join(map(str, state.members)),
        )


def _told(history: EpochHistory) -> str:
    return ", ".join(f"epoch {each.epoch} from {each.start}" for each in history.reigns) or "no epochs"


def last_whole(offset: int, missing: Iterable[Report]) -> int:
    """Where a log is cut to have nothing behind `offset`: there, or at the start of a missing part around it.

    In the middle of such a part no record begins; and what lies there comes from the leader anyway.
    """
    return min([offset, *(each.start for each in missing if each.start < offset < each.end)])
