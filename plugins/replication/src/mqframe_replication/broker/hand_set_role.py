"""The roles that operators give: a broker that is alone, a master, or a slave."""

from __future__ import annotations

from functools import partial

from mqframe.broker.roles.alone import AlonePart
from mqframe.broker.roles.group_role import Replication, RolePlace
from mqframe.broker.roles.unelected import NoEpochsPart, NoFollowerPart, refuse_store_of_group
from mqframe.broker.service import BrokerPart
from mqframe.broker.shared_log import SharedLog
from mqframe.core.requests.admin import GetAllSubscriptionGroupConfig
from mqframe_replication.broker.commits import forget_commits
from mqframe_replication.broker.listed_master import ListedMaster
from mqframe_replication.broker.master import MasterPart, in_sync_of
from mqframe_replication.broker.port import ReplicationPort
from mqframe_replication.broker.roles import RoleChanger, RolePart, noting_copies
from mqframe_replication.broker.slave import SlavePart, refused_at_slaves
from mqframe_replication.rules.slave_offsets import SlaveOffsets
from mqframe_replication.settings import NONE, ReplicationSettings
from mqframe_replication.store.replica_log import ReplicaLog

COPIED_LOG = SharedLog(offsets=SlaveOffsets, copy=ReplicaLog.of)
"""Of a slave of which nobody asks what copies confirm."""


class HandSetRole:
    """The `GroupRole` of a broker of these settings. `changer`: by whom operators change its role while it
    runs; `None`: they cannot.
    """

    def __init__(self, settings: ReplicationSettings, changer: RoleChanger | None = None) -> None:
        self._settings = settings
        self._changer = changer
        self._in_sync = in_sync_of(settings)
        self.log = COPIED_LOG if settings.is_slave else SharedLog(self._in_sync)

    def replication(self, place: RolePlace) -> Replication:
        """As `GroupRole.replication`. Raises `StoreError` for a master whose store is of an elected group."""
        sections, state, client, registration, _ = place
        if self._settings.is_slave:
            slave = SlavePart(sections, state, client, ListedMaster(sections, state, client, registration))
            return of_slave(slave, [self._roles(slave, place), NoFollowerPart(), NoEpochsPart()])
        refuse_store_of_group(state.directory)
        forget_commits(state.directory / "config")
        if self._settings.role == NONE:
            alone = AlonePart(state.store)
            return Replication([alone, self._roles(alone, place), NoFollowerPart(), NoEpochsPart()])
        master = MasterPart(sections, state, self._in_sync)
        return of_master(master.port, master, self._roles(master.port, place), NoEpochsPart())

    def _roles(self, part: BrokerPart, place: RolePlace) -> RolePart:
        roles = RolePart(self._settings, part, place.client, place.state)
        if self._changer is not None:
            roles.let(self._changer, place.quiesce)
        return roles


def of_slave(slave: SlavePart, more: list[BrokerPart]) -> Replication:
    """What a `slave` adds to its broker, and what `more` does."""
    watch = partial(refused_at_slaves, refuses_readers=slave.refuses_readers)
    return Replication([slave, *more], enforce=slave.enforce, watch=watch)


def of_master(port: ReplicationPort, part: BrokerPart, roles: RolePart, epochs: BrokerPart) -> Replication:
    """What a master adds to its broker whose log is copied at `port`."""
    watch = partial(noting_copies, port, kind=GetAllSubscriptionGroupConfig)
    return Replication([port, part, roles, NoFollowerPart(), epochs], port.push, port.enforce, watch)
