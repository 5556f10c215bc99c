"""A master: slaves copy its log; what a SYNC_MASTER stores waits for them (replication.md §1, §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.measuring.family import Metric, MetricKind, one
from mqframe.hooks.interfaces import Periodic
from mqframe_replication.broker.port import LOOK_SECONDS, RefusalNotes, ReplicationPort
from mqframe_replication.rules.in_sync import InSync, InSyncLimits
from mqframe_replication.sections import replication_of
from mqframe_replication.settings import SYNC_MASTER, ReplicationSettings
from mqframe_replication.stream.feed_rules import MasterRules
from mqframe_replication.stream.feeding import FedSlave


def in_sync_of(settings: ReplicationSettings) -> InSync | None:
    """The rule of a master of these settings that waits for its slaves; `None`: it waits for nobody."""
    if settings.role != SYNC_MASTER:
        return None
    limits = InSyncLimits(
        settings.in_sync,
        settings.min_in_sync,
        settings.all_acknowledge,
        settings.auto_in_sync,
        settings.behind_bytes_max,
    )
    return InSync(limits, settings.timeout_ms / 1000)


class MasterPart(BrokerPart):
    """What a master does besides that its log is copied at `port`.

    `in_sync`: the rule by which what is stored waits for slaves, that of the store; `None`: it does not.
    """

    def __init__(self, sections: BrokerSections, state: BrokerState, in_sync: InSync | None) -> None:
        self._in_sync = in_sync
        self._behind_bytes_max = replication_of(sections).behind_bytes_max
        self._refuses = RefusalNotes(state.clock)
        self.port = ReplicationPort(sections, state, MasterRules(state.store.log, self._heard), self._is_near)
        if in_sync is not None:
            in_sync.acknowledged = self.port.acknowledged

    def _heard(self) -> None:
        """A slave said how far it is, or left; or the log may have grown past slaves that say nothing."""
        in_sync = self._in_sync
        if in_sync is not None:
            in_sync.heard()
            self._refuses.note(in_sync.refusal())

    def _is_near(self, slave: FedSlave, end: int) -> bool:
        return end - slave.acknowledged < self._behind_bytes_max

    def counters(self) -> Mapping[str, str]:
        """Of a SYNC_MASTER how many brokers are in sync, itself included."""
        return {} if self._in_sync is None else {"replicationInSync": str(self._in_sync.brokers)}

    async def metrics(self) -> Sequence[Metric]:
        """Of a SYNC_MASTER how many brokers are in sync."""
        if self._in_sync is None:
            return ()
        brokers = self._in_sync.brokers
        return (
            one("mqframe_replication_in_sync", MetricKind.GAUGE, "Brokers in sync, this one too.", brokers),
        )

    def periodic(self) -> Sequence[Periodic]:
        """Heartbeats, what is left to send, and whether enough slaves are in sync."""
        return (Periodic(LOOK_SECONDS, self._look, "replication"),)

    def _look(self) -> None:
        self.port.look()
        self._heard()

    async def start(self) -> None:
        """Say where too few slaves are there from the start on."""
        self._heard()
