"""What a broker of an elected group is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elected.scene import Scene
from mqframe_election.broker.elected_role import RoleInGroup
from mqframe_election.broker.roles import FollowerRole
from mqframe_election.rules.replicas import FollowerReplicas
from mqframe_replication.rules.slave_offsets import SlaveOffsets
from mqframe_replication.settings import ReplicationSettings
from mqframe_replication.store.replica_log import ReplicaLog
from mqframe_testing.simulation import Simulation

from mqframe.core.consuming.offset_table import OffsetTable
from mqframe.core.requests.roles import DemoteBroker


def test_a_follower_s_log_is_a_copy_of_which_its_group_says_what_is_confirmed() -> None:
    replicas, nothing = FollowerReplicas(7), lambda *given: None
    role: Any = FollowerRole(nothing, replicas, "first", nothing, nothing, nothing, nothing, dict)  # type: ignore[arg-type]
    log = RoleInGroup(ReplicationSettings(role="SLAVE", id=1), role).log
    assert (log.replicas, log.offsets) == (replicas, SlaveOffsets)
    assert log.copy is not None


async def test_a_leader_has_tables_of_a_master_and_nobody_demotes_it(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        await scene.start("one", "two")
        leader = await scene.leader()
        follower = scene["two" if leader.name == "one" else "one"]
        assert leader.inner is not None
        assert follower.inner is not None
        assert type(leader.inner.service_port.offsets) is OffsetTable
        assert leader.inner.store.replica is None
        assert isinstance(follower.inner.store.replica, ReplicaLog)
        refused = await scene.client.invoke(leader.address, DemoteBroker(id=3), timeout=30)
        assert "this group elects its leader" in (refused.remark or "")
