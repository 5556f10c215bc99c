"""An elected leader: what its followers have is confirmed, and the set of those in sync is looked after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs

from mqframe.broker.elected.posts import LeaderPost, told_brokers
from mqframe.broker.replication.master import LOOK_SECONDS, MasterPart
from mqframe.broker.sections import BrokerSections
from mqframe.broker.state import BrokerState
from mqframe.core.measuring.family import Kind, Metric, one
from mqframe.hooks.interfaces import Periodic
from mqframe.log import get_logger
from mqframe.net.clock import Every
from mqframe.replication.feeding import FedSlave
from mqframe.replication.leader_feeding import LeaderFeeding
from mqframe.replication.settings import ALWAYS

log = get_logger("replication")
_PAUSE_SECONDS: Final = 0.05


class LeaderPart(MasterPart):
    """The replication port of a reign.

    It is open before the broker's own ports are: these wait until all that the log held when the reign began
    is confirmed, so that nobody reads what could still go.
    """

    def __init__(self, sections: BrokerSections, state: BrokerState, post: LeaderPost) -> None:
        replication: Any = sections.replication
        feeding = partial(
            LeaderFeeding, replicas=post.replicas, history=lambda: post.kept.history, newer=post.ring
        )
        always = attrs.evolve(sections, replication=attrs.evolve(replication, hello=ALWAYS))
        super().__init__(always, state, feeding)
        self._post = post
        self._brokers: int = sections.election.brokers
        self._topics = state.topics
        self._replicas = post.replicas
        self._replicas.told = lambda: state.store.confirmed_offset
        self._looks: Every | None = None
        state.identity.state_version = post.reigning.state.epoch

    def counters(self) -> Mapping[str, str]:
        """As of a master, with epoch, set and what is confirmed."""
        members = self._replicas.members
        state = self._post.reigning.state if members is None else members.state
        return {
            **super().counters(),
            "replicationEpoch": str(state.epoch),
            "replicationLeader": str(state.leader),
            "replicationMembers": " ".join(map(str, state.members)),
            "replicationBrokers": told_brokers(self._post),
            "replicationConfirmed": str(self._store.confirmed_offset),
            "replicationTrouble": str(self._replicas.refusal() or self._store.disk_refusal),
        }

    async def metrics(self) -> Sequence[Metric]:
        """As of a master, with epoch and size of the set."""
        members = self._replicas.members
        count = 0 if members is None else len(members.state.members)
        brokers = self._brokers or len(self._post.brokers())
        return (
            *await super().metrics(),
            one("mqframe_replication_epoch", Kind.GAUGE, "Number of this reign.", self._replicas.epoch),
            one("mqframe_replication_members", Kind.GAUGE, "Brokers in sync, the leader counted.", count),
            one("mqframe_replication_brokers", Kind.GAUGE, "Brokers that the group has.", brokers),
        )

    def _counts(self, slave: FedSlave, end: int) -> bool:
        members = self._replicas.members
        return members is not None and slave.id in members.state.members

    def periodic(self) -> Sequence[Periodic]:
        """None: it works before the broker serves."""
        return ()

    def _look(self) -> None:
        self._feeding.look()
        members = self._replicas.members
        if members is None:
            return
        members.confirm(self._store.confirmed_offset)
        self._replicas.heard()  # the set may have changed, or the lease be over
        wanted = members.wanted(self._store.max_offset, self._clock.monotonic())
        if members.pending is not None or wanted is not None:
            self._post.ring()
        self._note_refusal(self._replicas.refusal())

    async def start(self) -> None:
        """Open the replication port, and wait until the log as it was is confirmed. Raises `OSError`."""
        await super().start()
        self._looks = Every(self._clock, LOOK_SECONDS, self._look, name="replication")
        self._post.opened()
        end = self._store.max_offset
        # It may wait for the set to change, for as long as this broker leads.
        while self._store.confirmed_offset < end and not await self._store.until_confirmed(end):
            await self._clock.sleep(_PAUSE_SECONDS)
        self._know_topics()
        log.info("the log of this leader is confirmed", epoch=self._replicas.epoch, end=end)

    def _know_topics(self) -> None:
        """Have a topic for each queue: its messages may have come before the table was copied."""
        queues: dict[str, int] = {}
        for topic, queue_id in self._store.queues():
            queues[topic] = max(queues.get(topic, 0), queue_id + 1)
        for topic, count in queues.items():
            if self._topics.find(topic) is None:
                log.warning("a topic is known by its messages only; it is made", topic=topic, queues=count)
                self._topics.ensure(topic, count)

    async def stop(self) -> None:
        """Close the replication port."""
        self.abandon()
        await super().stop()

    def abandon(self) -> None:
        """Close the replication port at once."""
        if self._looks is not None:
            self._looks.stop()
        super().abandon()
