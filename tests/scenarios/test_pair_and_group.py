"""A master and a slave become a group that elects, and the group becomes them again, as the how-to says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from elected_group import Member, setting_words
from mqframe_testing import Cluster
from real_time import until
from steady_load import TOPIC, stored

from mqframe import Admin, FixError, Message, MqframeError, Producer, SendStatus

QUEUES = 2
WHOLE = 1 << 30
SETTINGS = (
    "replication.tables_interval_ms=500",
    "store.disk_limits=false",
    "store.commit_log_file_bytes=1048576",
)


class Machine(Member):
    """A folder and a port, where a broker runs in one role after the other."""

    def begin(self, role: str, number: int, *more: str) -> None:
        """Start its broker; `ready` waits until it serves."""
        self.start(f"replication.role={role}", f"replication.id={number}", *more)

    def stop(self) -> None:
        """Stop its broker in order."""
        assert self.end() == 0, self.said()

    def forget_the_group(self) -> None:
        for name in ("epochFileCheckpoint", "replica.json"):
            (self.store / name).unlink()


class Place:
    """Machines beside one name server, and what was sent to them."""

    def __init__(self, nameserver: str, admin: Admin) -> None:
        self.nameserver = nameserver
        self.admin = admin
        self.sent: list[bytes] = []

    def counters(self, machine: Machine) -> dict[str, str]:
        try:
            return self.admin.brokers.runtime(machine.address)
        except MqframeError:
            return {}

    def master(self) -> str:
        """The address of the broker that leads; "" without one."""
        try:
            return self.admin.cluster.masters()["group-a"]
        except FixError:
            return ""

    def send(self, count: int) -> None:
        with Producer("p", nameserver=self.nameserver) as producer:
            for _ in range(count):
                body = b"%04d" % len(self.sent)
                assert producer.send(Message(TOPIC, body)).status is SendStatus.SEND_OK
                self.sent.append(body)

    def alike(self, *machines: Machine) -> bool:
        ends = {int(self.counters(each).get("commitLogMaxOffset", -1)) for each in machines}
        return len(ends) == 1 and ends != {-1}

    def follow(self, *machines: Machine) -> bool:
        return all(self.counters(each).get("replicationFollows") == "true" for each in machines)

    def in_sync(self, leader: Machine) -> list[int]:
        return [int(each) for each in self.counters(leader).get("replicationMembers", "").split()]


@pytest.fixture
def place() -> Iterator[Place]:
    with Cluster(0) as cluster, Admin(nameserver=cluster.nameserver) as admin:
        yield Place(cluster.nameserver, admin)


@pytest.fixture
def machines(place: Place, tmp_path: Path) -> Iterator[list[Machine]]:
    words = ["--name", "group-a", "--nameserver", place.nameserver, *setting_words(SETTINGS)]
    made = [Machine(tmp_path, number, words) for number in (1, 2, 3)]
    yield made
    for each in made:
        each.kill()


def test_a_pair_becomes_a_group_and_a_pair_again(
    place: Place, machines: list[Machine], tmp_path: Path
) -> None:
    one, two, three = machines

    one.begin("SYNC_MASTER", 0)
    two.begin("SLAVE", 1)
    one.ready()
    two.ready()
    until(lambda: place.follow(two))
    place.admin.topics.create(TOPIC, queues=QUEUES)
    place.send(20)
    until(lambda: place.alike(one, two))
    one.stop()
    two.stop()

    engine = tmp_path / "group.sqlite"
    elected = ("election.coordination=sqlite", f"plugins.sqlite.file={engine}")
    for machine, number in ((one, 2), (two, 1), (three, 3)):
        machine.begin("ELECTED", number, *elected)
    for machine in machines:
        machine.ready()
    until(lambda: place.master() != "")
    leader = next(each for each in (one, two) if each.address == place.master())
    until(lambda: place.in_sync(leader) == [1, 2, 3])
    place.send(20)
    until(lambda: place.alike(*machines))
    assert stored(place.nameserver) == Counter(place.sent)
    followers = [each for each in machines if each is not leader]
    for machine in (*followers, leader):
        machine.stop()

    leader.begin("SYNC_MASTER", 0)
    said = leader.refuses()
    assert "epochFileCheckpoint and replica.json away first" in said, said
    for machine in machines:
        machine.forget_the_group()
    engine.unlink()

    for number, machine in enumerate((leader, *followers)):
        machine.begin("SLAVE" if number else "SYNC_MASTER", number)
    for machine in machines:
        machine.ready()
    until(lambda: place.follow(*followers))
    assert place.admin.cluster.masters() == {"group-a": leader.address}
    place.send(20)
    until(lambda: place.alike(*machines))
    assert stored(place.nameserver) == Counter(place.sent)
    for machine in (leader, *followers):
        machine.stop()
    logs = [machine.log(WHOLE) for machine in machines]
    assert logs[0] == logs[1] == logs[2]
