"""What the role of a broker adds to it; of a broker that is alone, nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import attrs

from mqframe.broker.cluster.registration import NameServerRegistration
from mqframe.broker.elected.epochs import EpochsPart
from mqframe.broker.elected.follower import FollowerPart
from mqframe.broker.elected.leader import LeaderPart
from mqframe.broker.elected.replica_state import EPOCHS, REPLICA
from mqframe.broker.elected.roles import ElectedRole, FollowerRole
from mqframe.broker.replication.commits import forget_commits
from mqframe.broker.replication.listed_master import ListedMaster
from mqframe.broker.replication.master import MasterPart, in_sync_of
from mqframe.broker.replication.port import ReplicationPort
from mqframe.broker.replication.roles import ELECTED_GROUP, OWN_PROGRAM, RolePart, noting_copies
from mqframe.broker.replication.slave import SlavePart
from mqframe.broker.sections import BrokerSections
from mqframe.broker.service import BrokerPart
from mqframe.broker.state import BrokerState
from mqframe.core.cluster.broker_info import HaRuntimeInfo
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal, StoreError
from mqframe.core.replication.in_sync import InSync
from mqframe.core.replication.replicas import Replicas
from mqframe.core.requests.admin import (
    ExchangeBrokerHaInfo,
    GetAllSubscriptionGroupConfig,
    GetBrokerHaStatus,
)
from mqframe.core.requests.election import ForceElection
from mqframe.core.requests.serving import Call, Handler, serves
from mqframe.net.access.access import Access
from mqframe.net.client import Client
from mqframe.replication.settings import NONE, ReplicationSettings
from mqframe.store.message_store import MessageStore


class AlonePart(BrokerPart):
    """A broker that nobody copies."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store

    @serves(GetBrokerHaStatus)
    def ha_status(self, fields: GetBrokerHaStatus, call: Call) -> HaRuntimeInfo:
        return HaRuntimeInfo(master_commit_log_max_offset=self._store.log.max_offset)

    @serves(ExchangeBrokerHaInfo)
    def ha_address(self, fields: ExchangeBrokerHaInfo, call: Call) -> None:
        raise Refusal(
            ResponseCode.SYSTEM_ERROR,
            "nobody can copy this broker: replication.role (brokerRole) is NONE",
        )


class NoFollowerPart(BrokerPart):
    """A broker that cannot be forced to lead: of no elected group, or the leader of one."""

    @serves(ForceElection)
    def force_election(self, fields: ForceElection, call: Call) -> None:
        raise Refusal(
            ResponseCode.SYSTEM_ERROR,
            "nothing is forced: this broker leads its group, or is of none that elects (replication.role ="
            " ELECTED); ask a broker that follows",
        )


@attrs.frozen
class GroupRole:
    """What a broker is among those with the same log.

    `elected`: what it is in a group that elects its leader; `in_sync`: the rule of a SYNC_MASTER that is in
    none.
    """

    elected: ElectedRole | None = None
    in_sync: InSync | None = None

    @classmethod
    def of(cls, settings: ReplicationSettings, elected: ElectedRole | None) -> GroupRole:
        """The role of a broker of these settings, which is `elected` in a group that elects its leader."""
        return cls(elected, in_sync_of(settings) if elected is None else None)

    @property
    def replicas(self) -> Replicas | None:
        """What has to have a message besides the disk, before it counts."""
        return self.in_sync if self.elected is None else self.elected.replicas


@attrs.frozen
class Replication:
    """`push`: sends slaves what was appended; `enforce`: has access control count for what is copied;
    `refuses_readers`: whether a slave refuses pulls now; `roles`: changes the role; `watch`: has the part
    know of requests that others serve."""

    parts: Sequence[BrokerPart]
    roles: RolePart
    push: Callable[[], object] = lambda: None
    enforce: Callable[[Access], None] = lambda access: None
    refuses_readers: Callable[[], bool] = lambda: False
    watch: Callable[[Mapping[int, Handler]], dict[int, Handler]] = dict


def make_replication(
    sections: BrokerSections,
    state: BrokerState,
    client: Client,
    registration: NameServerRegistration,
    role: GroupRole,
) -> Replication:
    """The parts of a broker for its role.

    Raises `StoreError` for a master whose store belongs to such a group.
    """
    made = _of_role(sections, state, client, registration, role)
    epochs = EpochsPart(sections.replication.id, state.identity, state.store, role.elected)
    return attrs.evolve(made, parts=[*made.parts, epochs])


def _of_role(
    sections: BrokerSections,
    state: BrokerState,
    client: Client,
    registration: NameServerRegistration,
    role: GroupRole,
) -> Replication:
    settings, elected = sections.replication, role.elected

    def roles(part: BrokerPart, fixed: str = OWN_PROGRAM) -> RolePart:
        return RolePart(settings, part, client, state, fixed)

    if isinstance(elected, FollowerRole):
        follower = FollowerPart(sections, state, client, elected)
        made = _of_slave(follower.slave, follower, roles(follower.slave, ELECTED_GROUP))
        return attrs.evolve(made, refuses_readers=follower.refuses_readers)
    if elected is None and sections.is_slave:
        slave = SlavePart(sections, state, client, ListedMaster(sections, state, client, registration))
        return _of_slave(slave, NoFollowerPart(), roles(slave))
    if elected is None and (state.directory / REPLICA).exists():
        raise StoreError(
            f"the store in {state.directory} is of a broker of an elected group; written to by itself, its"
            " log would differ from theirs under the same epochs. To leave the group for good, move"
            f" {EPOCHS} and {REPLICA} away first; to stay, set replication.role = ELECTED"
        )
    forget_commits(state.directory / "config")
    if elected is not None:
        leader = LeaderPart(sections, state, elected)
        return _of_master(leader.port, leader, roles(leader.port, ELECTED_GROUP))
    if settings.role == NONE:
        alone = AlonePart(state.store)
        return Replication([alone, change := roles(alone), NoFollowerPart()], change)
    master = MasterPart(sections, state, role.in_sync)
    return _of_master(master.port, master, roles(master.port))


def _of_slave(slave: SlavePart, more: BrokerPart, roles: RolePart) -> Replication:
    return Replication(
        [slave, more, roles], roles, enforce=slave.enforce, refuses_readers=slave.refuses_readers
    )


def _of_master(port: ReplicationPort, more: BrokerPart, roles: RolePart) -> Replication:
    watch = partial(noting_copies, port, kind=GetAllSubscriptionGroupConfig)
    return Replication([port, more, roles, NoFollowerPart()], roles, port.push, port.enforce, watch=watch)
