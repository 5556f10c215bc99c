"""An elected leader: what its followers have is confirmed, and the set of those in sync is looked after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
from mqframe_replication.broker.port import LOOK_SECONDS, RefusalNotes, ReplicationPort
from mqframe_replication.sections import replication_of
from mqframe_replication.settings import ALWAYS
from mqframe_replication.stream.feeding import FedSlave

from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.measuring.family import Metric, MetricKind, one
from mqframe.log import get_logger
from mqframe.net.clock import Every
from mqframe_election.broker.roles import LeaderRole, listed_brokers
from mqframe_election.settings import ElectionSettings
from mqframe_election.stream.leader_rules import LeaderRules

log = get_logger("replication")
_PAUSE_SECONDS: Final = 0.05


class LeaderPart(BrokerPart):
    """What a leader does in its term, besides that its log is copied at `port`.

    That is open before the broker's own ports are: these wait until all that the log held when the term began
    is confirmed, so that nobody reads what could still go.
    """

    def __init__(self, sections: BrokerSections, state: BrokerState, role: LeaderRole) -> None:
        replication: Any = replication_of(sections)
        always = attrs.evolve(sections, replication=attrs.evolve(replication, hello=ALWAYS))
        rules = LeaderRules(
            state.store.log, state.clock, role.replicas, history=lambda: role.replica.history, newer=role.ring
        )
        self.port = ReplicationPort(always, state, rules, self._is_member)
        self._role = role
        self._brokers: int = sections.section(ElectionSettings).brokers
        self._clock, self._store, self._topics = state.clock, state.store, state.topics
        self._replicas = role.replicas
        self._replicas.told = lambda: state.store.log.confirmed_offset
        self._refuses = RefusalNotes(state.clock)
        self._looks: Every | None = None
        state.identity.state_version = role.term.state.epoch

    def counters(self) -> Mapping[str, str]:
        """Epoch, set and what is confirmed."""
        members = self._replicas.members
        state = self._role.term.state if members is None else members.state
        return {
            "replicationEpoch": str(state.epoch),
            "replicationLeader": str(state.leader),
            "replicationMembers": " ".join(map(str, state.members)),
            "replicationBrokers": listed_brokers(self._role),
            "replicationConfirmed": str(self._store.log.confirmed_offset),
            "replicationTrouble": str(self._replicas.refusal() or self._store.disk.refusal),
        }

    async def metrics(self) -> Sequence[Metric]:
        """Epoch and size of the set."""
        members = self._replicas.members
        count = 0 if members is None else len(members.state.members)
        brokers = self._brokers or len(self._role.brokers())
        return (
            one("mqframe_replication_epoch", MetricKind.GAUGE, "Number of this term.", self._replicas.epoch),
            one(
                "mqframe_replication_members", MetricKind.GAUGE, "Brokers in sync, the leader counted.", count
            ),
            one("mqframe_replication_brokers", MetricKind.GAUGE, "Brokers that the group has.", brokers),
        )

    def _is_member(self, slave: FedSlave, end: int) -> bool:
        members = self._replicas.members
        return members is not None and slave.id in members.state.members

    def _look(self) -> None:
        self.port.look()
        members = self._replicas.members
        if members is None:
            return
        members.confirm(self._store.log.confirmed_offset)
        self._replicas.heard()  # the set may have changed, or the lease be over
        wanted = members.wanted(self._store.log.max_offset, self._clock.monotonic())
        if members.pending is not None or wanted is not None:
            self._role.ring()
        self._refuses.note(self._replicas.refusal())

    async def start(self) -> None:
        """Wait until the log as it was is confirmed."""
        # From now on, as it works before the broker serves.
        self._looks = Every(self._clock, LOOK_SECONDS, self._look, name="replication")
        self._role.opened()
        end = self._store.log.max_offset
        # It may wait for the set to change, for as long as this broker leads.
        while self._store.log.confirmed_offset < end and not await self._store.confirming.until_confirmed(
            end
        ):
            await self._clock.sleep(_PAUSE_SECONDS)
        self._know_topics()
        log.info("the log of this leader is confirmed", epoch=self._replicas.epoch, end=end)

    def _know_topics(self) -> None:
        """Have a topic for each queue: its messages may have come before the table was copied."""
        queues: dict[str, int] = {}
        for topic, queue_id in self._store.queues:
            queues[topic] = max(queues.get(topic, 0), queue_id + 1)
        for topic, count in queues.items():
            if self._topics.find(topic) is None:
                log.warning("a topic is known by its messages only; it is made", topic=topic, queues=count)
                self._topics.ensure(topic, count)

    async def stop(self) -> None:
        """Look after nothing any more."""
        self.abandon()

    def abandon(self) -> None:
        """Look after nothing any more."""
        if self._looks is not None:
            self._looks.stop()
