"""A follower of an elected group: it follows who leads, and may be forced to lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqframe_replication.broker.followed_master import copy_of
from mqframe_replication.broker.slave import SlavePart

from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.measuring.family import Metric, MetricKind, one
from mqframe.core.requests.election import ForceElection, ForceElectionAnswer
from mqframe.core.requests.serving import Call, serves
from mqframe.net.client import Client
from mqframe_election.broker.elected_leader import ElectedLeader
from mqframe_election.broker.roles import FollowerRole, listed_brokers
from mqframe_election.rules.group import LeaderNote


class FollowerPart(BrokerPart):
    """What a follower does besides that it is the `slave` of its leader."""

    def __init__(
        self, sections: BrokerSections, state: BrokerState, client: Client, role: FollowerRole
    ) -> None:
        self._store = state.store
        self._role = role
        self._leader = ElectedLeader(sections, state, role)
        self.slave = SlavePart(sections, state, client, self._leader)
        state.identity.state_version = role.replica.epoch

    @property
    def leader(self) -> LeaderNote | None:
        """Who is followed; `None`: nobody."""
        return self._leader.note

    def follow(self, leader: LeaderNote | None) -> None:
        """Follow `leader`; `None`: nobody. On return nothing further is acknowledged to anybody else."""
        if leader != self._leader.note:
            self._leader.note = leader
            self.slave.follow_anew()

    def refuses_readers(self) -> bool:
        """Whether readers have to wait, or to go to the leader.

        A start lists all that the log holds, confirmed or not; so may a topic that was made anew.
        """
        return self._store.dispatch.listed_offset > self._role.replicas.told or self.slave.refuses_readers()

    def counters(self) -> Mapping[str, str]:
        """Epoch, leader and what is confirmed."""
        leader = self._leader.note
        return {
            "replicationEpoch": str(self._role.replica.epoch),
            "replicationLeader": "" if leader is None else str(leader.id),
            "replicationBrokers": listed_brokers(self._role),
            "replicationConfirmed": str(self._store.log.confirmed_offset),
        }

    async def metrics(self) -> Sequence[Metric]:
        """The epoch."""
        return (
            one("mqframe_replication_epoch", MetricKind.GAUGE, "Newest known.", self._role.replica.epoch),
        )

    @serves(ForceElection)
    async def force_election(self, fields: ForceElection, call: Call) -> ForceElectionAnswer:
        if fields.accept_loss and not copy_of(self._store).is_whole:
            # Others have what is missing, in the same epochs: they would follow, and never be alike.
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                "a part in the middle of this broker's log was damaged and set aside, so it cannot lead:"
                " force another broker of the group, this one fetches from it what is missing",
            )
        state = await self._role.force(fields.accept_loss)
        return ForceElectionAnswer(
            epoch=state.epoch,
            end=self._store.log.max_offset,
            confirmed=state.confirmed,
            members=",".join(map(str, state.members)),
        )
