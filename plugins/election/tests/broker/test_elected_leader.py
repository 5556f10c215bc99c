"""The leader that a follower sees: whose log is compared, what is cut, and what is never cut."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from elected.members import Engine
from elected.scene import Scene
from mqframe_election.broker.elected_leader import ElectedLeader, last_whole
from mqframe_election.broker.replica_state import ReplicaState
from mqframe_election.broker.roles import FollowerRole
from mqframe_election.rules.group import LeaderNote
from mqframe_election.rules.history import EpochHistory
from mqframe_election.rules.replicas import FollowerReplicas
from mqframe_replication.broker.followed_master import MasterUnknown
from mqframe_replication.rules.hello import EpochStart, Welcome
from mqframe_replication.settings import ReplicationSettings
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.simulation import Simulation

from mqframe.broker.cluster.registration import MasterPlace
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import StoreError
from mqframe.store.settings import StoreSettings
from mqframe.store.upkeep.quarantine import QuarantineReport

BODIES = [b"message %d" % number for number in range(5)]
PLACE = MasterPlace("10.0.0.1:10911", "10.0.0.1:10912")
WELCOME = Welcome(id=1, epoch=4, history=(EpochStart(3, 0),), start=0, end=900, confirmed=700)


class Log:
    """A log that ends at `max_offset`, with no record to compare: a store and its parts in one."""

    kept_from = -1
    flushes = 0

    def __init__(self, max_offset: int) -> None:
        self.max_offset = max_offset
        self.is_disk_full = False
        self.log = self.replica = self.missing = self.confirming = self

    def last_record(self) -> None:
        return None

    def reports(self) -> list[QuarantineReport]:
        return []

    async def flush_log(self) -> bool:
        self.flushes += 1
        return not self.is_disk_full


class Copy:
    """A follower whose log, of epoch 3, ends at `end`; `cut`: where it is to be cut."""

    def __init__(self, directory: Path, end: int, flush: str = "ASYNC_FLUSH") -> None:
        self.log, self.cut, self.forced = Log(end), [], 0
        self.replica = ReplicaState(directory, "folder")
        self.replica.record(EpochHistory([(3, 0)]))
        self.replica.heard(4)
        self.replicas = FollowerReplicas(0)
        nothing: Any = None
        role = FollowerRole(
            self.replica, self.replicas, "first", self.cut.append, lambda: self.forced, nothing,
            lambda: "", nothing,
        )  # fmt: skip
        sections = BrokerSections(
            BrokerSettings(nameservers=("127.0.0.1:1",)),
            StoreSettings(directory=directory, flush=flush),
            replication=ReplicationSettings(role="SLAVE", id=2),
        )
        state: Any = SimpleNamespace(store=self.log, clock=ManualClock())
        self.leader = ElectedLeader(sections, state, role)

    def compare(self, **change: Any) -> None:
        """With a leader that welcomes this follower like `WELCOME`, but for `change`."""
        asyncio.run(self.leader.compare(PLACE, msgspec.structs.replace(WELCOME, **change)))


async def test_nobody_is_followed_before_the_engine_says_who_leads(tmp_path: Path) -> None:
    leader = Copy(tmp_path, 600).leader
    with pytest.raises(MasterUnknown, match="nobody leads this group at the moment"):
        leader.place()
    leader.note = LeaderNote(1, 4, *PLACE, "claim")
    assert leader.place() == await leader.find() == PLACE


def test_a_follower_says_what_its_log_holds_and_what_it_knows(tmp_path: Path) -> None:
    copy = Copy(tmp_path, 600)
    introduce = copy.leader.dialer.introduce
    assert introduce is not None
    said = introduce()
    assert (said.id, said.boot, said.end, said.epoch, said.is_clean) == (2, "first", 600, 4, True)
    assert said.history == (EpochStart(3, 0),)


def test_a_log_that_is_the_beginning_of_the_leader_s_is_followed(tmp_path: Path) -> None:
    copy = Copy(tmp_path, 600)
    copy.compare(epoch=5)
    assert (copy.replica.epoch, copy.leader.rules.epoch) == (5, 5)
    assert (copy.log.kept_from, copy.replicas.told, copy.log.flushes) == (0, 700, 0)
    assert copy.cut == []


def test_a_leader_of_an_older_epoch_is_not_followed(tmp_path: Path) -> None:
    copy = Copy(tmp_path, 600)
    with pytest.raises(StoreError, match=r"leads in epoch 3, epoch 4 is known here: it is replaced"):
        copy.compare(epoch=3)
    assert (copy.log.kept_from, copy.replicas.told) == (-1, 0)


def test_what_the_leader_does_not_have_is_cut_but_nothing_that_was_confirmed(tmp_path: Path) -> None:
    copy = Copy(tmp_path, 600)
    with pytest.raises(StoreError, match="what this log has behind 500 is cut off"):
        copy.compare(end=500)
    assert copy.cut == [500]
    copy.replicas.tell(501)
    with pytest.raises(StoreError, match="agrees with this one up to 500 only, and 501 was confirmed"):
        copy.compare(end=500)
    assert copy.cut == [500]
    copy.forced = 4  # an operator accepted the loss
    with pytest.raises(StoreError, match="what this log has behind 500 is cut off"):
        copy.compare(end=500)
    assert copy.cut == [500, 500]


def test_logs_of_other_epochs_have_nothing_in_common(tmp_path: Path) -> None:
    copy = Copy(tmp_path, 600)
    with pytest.raises(
        StoreError, match=r"epoch 3 from 0, up to 600.*epoch 2 from 100, from 100 to 900.*nothing in common"
    ):
        copy.compare(history=(EpochStart(2, 100),), start=100)
    assert copy.cut == []


def test_with_synchronous_flush_the_log_is_on_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    copy = Copy(tmp_path, 600, "SYNC_FLUSH")
    copy.compare()
    assert (copy.log.flushes, copy.replicas.told) == (1, 700)
    copy.log.is_disk_full = True
    with pytest.raises(StoreError, match="cannot be brought to disk"):
        copy.compare(confirmed=800)
    assert copy.replicas.told == 700


async def test_what_was_confirmed_is_not_cut_where_the_engine_and_a_disk_were_emptied(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        await scene.start("one", "two")
        await scene.sent(await scene.leader(), *BODIES)
        await scene.clock.sleep(3)
        for name in ("one", "two"):
            await scene.members.stop(name, kill=False)
        scene.members.engine = Engine(scene.simulation)
        scene["one"].disk_life += 1  # an empty folder
        await scene.start("one")
        await scene.leader()
        await scene.start("two")
        await scene.clock.sleep(8)
        trouble = scene.counters("two")["replicationTrouble"]
        assert "Nothing is cut. Keep this store, and start the broker with an empty one" in trouble
        inner = scene["two"].inner
        assert inner is not None
        assert inner.store.log.max_offset > 0
        assert not (place / scene["two"].folder / "cut").exists()


async def test_logs_that_differ_under_the_same_epochs_are_told_apart_by_their_last_record(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        await scene.start("one", "two")
        await scene.sent(await scene.leader(), *BODIES)
        await scene.clock.sleep(3)
        for name in ("one", "two"):
            await scene.members.stop(name, kill=False)
        # The engine counts epochs from the beginning, and so does a broker with an empty folder.
        scene.members.engine = Engine(scene.simulation)
        scene["one"].disk_life += 1
        await scene.start("one")
        await scene.sent(await scene.leader(), *[b"other" + body for body in BODIES])
        await scene.start("two")
        await scene.clock.sleep(8)
        trouble = scene.counters("two")["replicationTrouble"]
        assert "the logs differ, though their epochs do not tell. Nothing is cut" in trouble
        assert not (place / scene["two"].folder / "cut").exists()
        assert scene.counters("one")["replicationMembers"] == "1"


@pytest.mark.parametrize(
    ("offset", "cut"), [(0, 0), (100, 100), (101, 100), (199, 100), (200, 200), (250, 250), (301, 300)]
)
def test_a_log_is_cut_where_a_record_begins_though_parts_are_missing(offset: int, cut: int) -> None:
    missing = [QuarantineReport(start, end, False, "", 0, 0) for start, end in ((100, 200), (300, 400))]
    assert last_whole(offset, missing) == cut
