"""What a broker is in a group that elects its leader, as it is made."""

from __future__ import annotations

from functools import partial

import attrs
from mqframe_replication.broker.commits import forget_commits
from mqframe_replication.broker.hand_set_role import COPIED_LOG, of_master, of_slave
from mqframe_replication.broker.roles import RolePart
from mqframe_replication.broker.slave import refused_at_slaves
from mqframe_replication.settings import ReplicationSettings

from mqframe.broker.roles.group_role import Replication, RolePlace
from mqframe.broker.service import BrokerPart
from mqframe.broker.shared_log import SharedLog
from mqframe_election.broker.epochs import EpochsPart
from mqframe_election.broker.follower import FollowerPart
from mqframe_election.broker.handing import HandingLeader, LeadlessFollower, answering
from mqframe_election.broker.leader import LeaderPart
from mqframe_election.broker.roles import ElectedRole, FollowerRole

ELECTED_GROUP = (
    "this group elects its leader (replication.role = ELECTED); stop the leader, and another one is elected"
)


class RoleInGroup:
    """The `GroupRole` of a broker that leads its group, or follows. `settings`: how the group replicates."""

    def __init__(self, settings: ReplicationSettings, role: ElectedRole) -> None:
        self._settings = settings
        self._role = role

    @property
    def log(self) -> SharedLog:
        """As `GroupRole.log`."""
        own = COPIED_LOG if isinstance(self._role, FollowerRole) else SharedLog()
        return own._replace(replicas=self._role.replicas)

    def replication(self, place: RolePlace) -> Replication:
        """As `GroupRole.replication`."""
        role, state = self._role, place.state
        epochs = EpochsPart(self._settings.id, state.identity, state.store, role)
        if isinstance(role, FollowerRole):
            return self._of_follower(place, role, epochs)
        forget_commits(state.directory / "config")
        leader = LeaderPart(place.sections, state, role)
        made = of_master(leader.port, leader, self._roles(leader.port, place), epochs)
        return attrs.evolve(made, watch=answering(made.watch, HandingLeader(role)))

    def _of_follower(self, place: RolePlace, role: FollowerRole, epochs: EpochsPart) -> Replication:
        follower = FollowerPart(place.sections, place.state, place.client, role)
        made = of_slave(follower.slave, [follower, self._roles(follower.slave, place), epochs])
        watch = partial(refused_at_slaves, refuses_readers=follower.refuses_readers)
        follows = LeadlessFollower(lambda: follower.leader)
        return attrs.evolve(made, watch=answering(watch, follows))

    def _roles(self, part: BrokerPart, place: RolePlace) -> RolePart:
        return RolePart(self._settings, part, place.client, place.state, ELECTED_GROUP)
