"""A master and a slave become a group that elects, and the group becomes them again, as the how-to says."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from elected_group import read_ready, run
from real_time import until

from mqframe import Admin, FixError, Message, MqframeError, Producer, Puller, SendStatus
from mqframe.testing import Cluster
from mqframe.testing.ports import lasting_port

QUEUES = 2


class Machine:
    """A folder and a port, where a broker runs in one role after the other."""

    def __init__(self, folder: Path, name: str) -> None:
        self.address = f"127.0.0.1:{lasting_port(1, -2)}"
        self.store = folder / name / "store"
        self.errors = folder / f"{name}.log"
        self._process: subprocess.Popen[str] | None = None
        self._words = ["--port", self.address.rpartition(":")[2], "--data", str(folder / name)]

    def start(self, nameserver: str, role: str, number: int, *more: str) -> None:
        """Start its broker; `ready` waits until it serves."""
        settings = (
            f"replication.role={role}", f"replication.id={number}", "replication.tables_interval_ms=500",
            "store.disk_limits=false", "store.commit_log_file_bytes=1048576", *more,
        )  # fmt: skip
        words = [word for each in settings for word in ("--set", each)]
        words = ["broker", "--name", "group-a", "--nameserver", nameserver, *self._words, *words]
        self._process = run(words, self.errors)

    def ready(self) -> None:
        assert self._process is not None
        read_ready(self._process, self.errors)

    def stop(self) -> None:
        """Stop its broker in order."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(60)
        self.end()
        assert code == 0, self.errors.read_text()

    def refused(self, nameserver: str, role: str, number: int) -> str:
        """What is said by a broker that does not start."""
        self.start(nameserver, role, number)
        assert self._process is not None
        code = self._process.wait(60)
        self.end()
        assert code == 1
        return self.errors.read_text().splitlines()[-1]

    def end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(60)
            assert process.stdout is not None
            process.stdout.close()

    def forget_the_group(self) -> None:
        for name in ("epochFileCheckpoint", "replica.json"):
            (self.store / name).unlink()

    def log(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted((self.store / "commitlog").iterdir()))


class Place:
    """Machines beside one name server, and what was sent to them."""

    def __init__(self, nameserver: str, admin: Admin) -> None:
        self.nameserver = nameserver
        self.admin = admin
        self.sent: list[bytes] = []

    def counters(self, machine: Machine) -> dict[str, str]:
        try:
            return self.admin.broker_runtime(machine.address)
        except MqframeError:
            return {}

    def master(self) -> str:
        """The address of the broker that leads; "" without one."""
        try:
            return self.admin.masters()["group-a"]
        except FixError:
            return ""

    def send(self, count: int) -> None:
        with Producer("p", nameserver=self.nameserver) as producer:
            for _ in range(count):
                body = b"%04d" % len(self.sent)
                assert producer.send(Message("kept", body)).status is SendStatus.SEND_OK
                self.sent.append(body)

    def alike(self, *machines: Machine) -> bool:
        ends = {int(self.counters(each).get("commitLogMaxOffset", -1)) for each in machines}
        return len(ends) == 1 and ends != {-1}

    def follow(self, *machines: Machine) -> bool:
        return all(self.counters(each).get("replicationFollows") == "true" for each in machines)

    def in_sync(self, leader: Machine) -> list[int]:
        return [int(each) for each in self.counters(leader).get("replicationMembers", "").split()]

    def bodies(self) -> list[bytes]:
        found = []
        with Puller(nameserver=self.nameserver) as puller:
            for queue in puller.queues("kept"):
                offset, end = 0, puller.max_offset(queue)
                while offset < end:
                    result = puller.pull(queue, offset, wait=5.0)
                    found += [message.body for message in result.messages]
                    offset = result.next_offset
        return sorted(found)


@pytest.fixture
def place() -> Iterator[Place]:
    with Cluster(0) as cluster, Admin(nameserver=cluster.nameserver) as admin:
        yield Place(cluster.nameserver, admin)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[Machine]]:
    made = [Machine(tmp_path, name) for name in ("one", "two", "three")]
    yield made
    for each in made:
        each.end()


def test_a_pair_becomes_a_group_and_a_pair_again(
    place: Place, machines: list[Machine], tmp_path: Path
) -> None:
    names, (one, two, three) = place.nameserver, machines

    one.start(names, "SYNC_MASTER", 0)
    two.start(names, "SLAVE", 1)
    one.ready()
    two.ready()
    until(lambda: place.follow(two))
    place.admin.create_topic("kept", queues=QUEUES)
    place.send(20)
    until(lambda: place.alike(one, two))
    one.stop()
    two.stop()

    engine = tmp_path / "group.sqlite"
    elected = ("election.coordination=sqlite", f"plugins.sqlite.file={engine}")
    for machine, number in ((one, 2), (two, 1), (three, 3)):
        machine.start(names, "ELECTED", number, *elected)
    for machine in machines:
        machine.ready()
    until(lambda: place.master() != "")
    leader = next(each for each in (one, two) if each.address == place.master())
    until(lambda: place.in_sync(leader) == [1, 2, 3])
    place.send(20)
    until(lambda: place.alike(*machines))
    assert place.bodies() == place.sent
    followers = [each for each in machines if each is not leader]
    for machine in (*followers, leader):
        machine.stop()

    said = leader.refused(names, "SYNC_MASTER", 0)
    assert "epochFileCheckpoint and replica.json away first" in said, said
    for machine in machines:
        machine.forget_the_group()
    engine.unlink()

    for number, machine in enumerate((leader, *followers)):
        machine.start(names, "SLAVE" if number else "SYNC_MASTER", number)
    for machine in machines:
        machine.ready()
    until(lambda: place.follow(*followers))
    assert place.admin.masters() == {"group-a": leader.address}
    place.send(20)
    until(lambda: place.alike(*machines))
    assert place.bodies() == place.sent
    for machine in (leader, *followers):
        machine.stop()
    logs = [machine.log() for machine in machines]
    assert logs[0] == logs[1] == logs[2]
