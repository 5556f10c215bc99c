"""The leader of a group, as a follower sees it: their logs are compared by epochs (election.md §7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from mqframe_replication.broker.followed_master import (
    FollowTimes,
    MasterUnknown,
    copy_of,
    dialer_of,
    hello_of,
)
from mqframe_replication.rules.hello import EpochStart, Hello, Welcome
from mqframe_replication.sections import replication_of
from mqframe_replication.stream.fetching import fetch

from mqframe.broker.cluster.registration import MasterPlace
from mqframe.broker.sections import BrokerSections
from mqframe.broker.state import BrokerState
from mqframe.core.errors import StoreError
from mqframe.net.access.access import Access
from mqframe.store.upkeep.quarantine import QuarantineReport
from mqframe_election.broker.roles import FollowerRole
from mqframe_election.rules.group import LeaderNote
from mqframe_election.rules.history import UNLED, EpochHistory
from mqframe_election.stream.follower_rules import FollowerRules

LOOK_SECONDS: Final = 0.25
"""So soon a new leader is followed: it serves nobody before its set does."""
_TABLES_SHARE: Final = 5
"""So much oftener than other slaves followers copy tables: they may be asked to lead at any moment."""


class ElectedLeader:
    """The `FollowedMaster` of a follower.

    `note`: who leads, as the engine says; `None`: nobody. `cutting_back`: this log is cut by `role.cut`.
    """

    cutting_back = None
    known_end = 0

    def __init__(self, sections: BrokerSections, state: BrokerState, role: FollowerRole) -> None:
        settings = replication_of(sections)
        self._store = state.store
        self._copy = copy_of(state.store)
        self._clock = state.clock
        self._role = role
        self._silent = settings.silent_ms / 1000
        self._hello = hello_of(sections, role.process)
        self.note: LeaderNote | None = None
        self.dialer = dialer_of(sections, state.clock)
        self.dialer.introduce = self._introduce
        syncs = sections.store.flush == "SYNC_FLUSH"
        self.rules = FollowerRules(self._copy, role.replicas, role.replica, syncs=syncs)
        tables = settings.tables_interval_ms / 1000 / _TABLES_SHARE
        self.times = FollowTimes(LOOK_SECONDS, LOOK_SECONDS, tables)

    def _introduce(self) -> Hello:
        replica = self._role.replica
        return msgspec.structs.replace(
            self._hello,
            end=self._store.log.max_offset,
            epoch=replica.epoch,
            history=tuple(EpochStart(*each) for each in replica.history.terms),
            is_clean=replica.is_clean,
        )

    def enforce(self, access: Access) -> None:
        """As `FollowedMaster.enforce`."""
        if access.authentication is not None:
            self.dialer.signer = access.signer()

    async def find(self) -> MasterPlace:
        """As `FollowedMaster.find`. There is nobody to ask: the engine says who leads."""
        return self.place()

    def place(self) -> MasterPlace:
        """As `FollowedMaster.place`."""
        if self.note is None:
            raise MasterUnknown(self._role.trouble() or "nobody leads this group at the moment")
        return MasterPlace(self.note.address, self.note.replication_address)

    async def choose_hello(self, place: MasterPlace) -> None:
        """As `FollowedMaster.choose_hello`: leaders are told who follows, always."""

    async def compare(self, place: MasterPlace, welcome: Welcome | None) -> None:
        """As `FollowedMaster.compare`; has the end of this log cut off where the leader does not have it."""
        assert welcome is not None, "this follower always says hello"
        replica, end = self._role.replica, self._store.log.max_offset
        if welcome.epoch < replica.epoch:
            raise StoreError(
                f"the leader at {place.replication_address} leads in epoch {welcome.epoch}, epoch"
                f" {replica.epoch} is known here: it is replaced"
            )
        replica.heard(welcome.epoch)
        self.rules.epoch = welcome.epoch
        history = replica.history.cut(end)
        if end:
            common = _common_end(history, end, welcome)
            if common < end:
                self._cut(common, history)
            await self._compare_last(place, welcome)
        self._copy.missing.kept_from = welcome.start
        if self.rules.syncs and not await self._store.confirming.flush_log():
            raise StoreError("this log cannot be brought to disk: see the log, mend the disk")
        self._role.replicas.tell(welcome.confirmed)

    async def _compare_last(self, place: MasterPlace, welcome: Welcome) -> None:
        """Raises `StoreError` where the last record here is another one at the leader.

        Histories do not tell it of what was stored before there were epochs, nor where an engine that was
        emptied began to count them again.
        """
        last = self._copy.missing.last_record()
        if last is None or last[0] < welcome.start:
            return
        offset, record = last
        stretch = offset, offset + len(record)
        there = await fetch(self._clock, place.replication_address, stretch, self._silent, self.dialer)
        if there != record:
            raise StoreError(
                f"the record at log offset {offset} is another one at the leader {place.address}: the logs"
                " differ, though their epochs do not tell. Nothing is cut. Keep this store, and start the"
                " broker with an empty one"
            )

    def _cut(self, common: int, history: EpochHistory) -> None:
        """Have what lies behind `common` cut off. Raises `StoreError`, always: this broker is made anew."""
        known = max(self._role.replica.confirmed, self._role.replicas.told)
        is_forced = self._role.forced_epoch() > history.last_epoch
        if not is_forced and (common < known or history.at(common) == UNLED):
            raise StoreError(
                f"the leader's log agrees with this one up to {common} only, and {known} was confirmed, or"
                " was stored before this group elected leaders: the engine was emptied, or a disk replaced."
                " Nothing is cut. Keep this store, and start the broker with an empty one"
            )
        common = last_whole(common, self._copy.missing.reports())
        self._role.cut(common)
        raise StoreError(f"what this log has behind {common} is cut off, for the leader does not have it")


def _common_end(history: EpochHistory, end: int, welcome: Welcome) -> int:
    """Up to where this log and the leader's agree. Raises `StoreError` where it cannot follow."""
    theirs = EpochHistory(welcome.history)
    common = history.common_end(end, theirs, welcome.end)
    if common is None or common < welcome.start:
        raise StoreError(
            f"this log ({_listed(history)}, up to {end}) and the leader's ({_listed(theirs)}, from"
            f" {welcome.start} to {welcome.end}) have nothing in common: start this broker with an empty"
            " store, and keep this one where it may hold what was acknowledged"
        )
    return common


def _listed(history: EpochHistory) -> str:
    return ", ".join(f"epoch {each.epoch} from {each.start}" for each in history.terms) or "no epochs"


def last_whole(offset: int, missing: Iterable[QuarantineReport]) -> int:
    """Where a log is cut to have nothing behind `offset`: there, or at the start of a missing part around it.

    In the middle of such a part no record begins; and what lies there comes from the leader anyway.
    """
    return min([offset, *(each.start for each in missing if each.start < offset < each.end)])
