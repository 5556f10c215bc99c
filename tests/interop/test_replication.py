"""A master of one kind with a slave of the other: the log that arrives is the log that was sent."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mqframe_testing import Cluster
from mqframe_testing.ports import lasting_port
from real_time import until

from interop.apache import Apache, port_of
from interop.conftest import StartJava
from mqframe import Admin, FixError, Message, MqframeError, Producer, Puller, PushConsumer, SendStatus
from mqframe.core.cluster.client_bodies import ConsumerList
from mqframe.core.requests.consumers import GetConsumerListByGroup
from mqframe.core.wire.loose_json import decode
from mqframe.net.blocking import BlockingClient
from mqframe.net.clock import SystemClock
from mqframe.net.settings import NetSettings

FILE_BYTES = 16 << 20
"""Of the logs of both: as in the file of Apache's broker."""


class OurBroker:
    """`mqframe broker` of the name of Apache's, on `port`, with a folder of its own."""

    def __init__(self, folder: Path, nameserver: str, role: str, *more: str) -> None:
        self.address = f"127.0.0.1:{lasting_port(1, -2)}"
        self.log = folder / "store" / "commitlog"
        self._words = [
            "--name", "apache-a", "--nameserver", nameserver, "--port", str(port_of(self.address)),
            "--data", str(folder), "--set", f"replication.role={role}", "--set", "store.disk_limits=false",
            "--set", f"store.commit_log_file_bytes={FILE_BYTES}",
            *(word for each in more for word in ("--set", each)),
        ]  # fmt: skip

    @contextlib.contextmanager
    def running(self) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, "-m", "mqframe", "broker", *self._words]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("ready broker=")
            yield process
        finally:
            process.terminate()
            process.wait(60)
            process.stdout.close()


def log_end(admin: Admin, address: str) -> int:
    try:
        return int(admin.brokers.runtime(address)["commitLogMaxOffset"])
    except MqframeError:
        return -1


def has_master(admin: Admin) -> bool:
    try:
        return bool(admin.cluster.masters())
    except FixError:
        return False


def send(nameserver: str, start: int, count: int) -> None:
    with Producer("p", nameserver=nameserver) as producer:
        for number in range(start, start + count):
            producer.send(Message("copied", b"%06d" % number * 1000, tag="T", keys=[f"k{number}"]))


def bodies(nameserver: str) -> list[bytes]:
    found = []
    with Puller(nameserver=nameserver) as puller:
        for queue in puller.queues("copied"):
            offset = 0
            while (result := puller.pull(queue, offset, wait=0.1)).messages:
                found += [message.body[:6] for message in result.messages]
                offset = result.next_offset
    return sorted(found)


def log_of(folder: Path, end: int) -> bytes:
    files = [path for path in sorted(folder.iterdir()) if path.name.isdecimal()]
    return b"".join(path.read_bytes() for path in files)[:end]


SLAVE = "brokerClusterName=DefaultCluster\nbrokerRole=SLAVE\nbrokerId=1\nslaveReadEnable=true\n"
MASTER = "brokerClusterName=DefaultCluster\nbrokerRole=ASYNC_MASTER\n"


class ApacheSlave(Apache):
    """It is never a master, so it is ready when it listens."""

    broker_class = "HastyBroker"

    def _registered(self, admin: Admin) -> bool:
        return True


@pytest.mark.long
@pytest.mark.proves("replication", by="Apache 5.3.3")
def test_a_slave_of_ours_copies_a_master_of_apaches_and_serves_its_messages(
    newest_class_path: str, tmp_path: Path
) -> None:
    with Cluster(0) as cluster, Admin(nameserver=cluster.nameserver) as admin:
        apache = Apache(newest_class_path, tmp_path / "apache", conf=MASTER, nameserver=cluster.nameserver)
        slave = OurBroker(tmp_path / "ours", cluster.nameserver, "SLAVE", "replication.id=1")
        apache.home.mkdir()
        with apache:
            master = apache.servers.broker
            send(cluster.nameserver, 0, 40)
            with slave.running():
                until(lambda: log_end(admin, slave.address) == log_end(admin, master) > 0, seconds=60)
                send(cluster.nameserver, 40, 20)
                until(lambda: log_end(admin, slave.address) == log_end(admin, master), seconds=60)
                end = log_end(admin, master)
                apache.stop()  # it is killed
                until(lambda: not has_master(admin), seconds=60)
                assert bodies(cluster.nameserver) == [b"%06d" % number for number in range(60)]
        ours, theirs = log_of(slave.log, end), log_of(apache.home / "store/commitlog", end)
        assert len(ours) == end
        assert ours == theirs


@pytest.mark.proves("replication", by="Apache 5.3.3")
def test_a_slave_of_apaches_copies_a_master_of_ours(newest_class_path: str, tmp_path: Path) -> None:
    with Cluster(0) as cluster, Admin(nameserver=cluster.nameserver) as admin:
        master = OurBroker(tmp_path / "ours", cluster.nameserver, "SYNC_MASTER")
        apache = ApacheSlave(
            newest_class_path, tmp_path / "apache", conf=SLAVE, nameserver=cluster.nameserver
        )
        apache.home.mkdir()
        with master.running():
            send(cluster.nameserver, 0, 40)
            with apache:
                slave = apache.servers.broker
                until(lambda: log_end(admin, slave) == log_end(admin, master.address) > 0, seconds=60)
                with Producer("p", nameserver=cluster.nameserver) as producer:
                    sent = [producer.send(Message("copied", b"%06d" % n * 1000)) for n in range(40, 60)]
                assert {result.status for result in sent} == {SendStatus.SEND_OK}
                end = log_end(admin, master.address)
                assert log_end(admin, slave) == end
        ours, theirs = log_of(master.log, end), log_of(apache.home / "store/commitlog", end)
        assert len(ours) == end
        assert ours == theirs


@pytest.mark.long
def test_a_master_of_apaches_hears_no_hello_which_it_would_take_for_a_report(
    newest_class_path: str, tmp_path: Path
) -> None:
    with Cluster(0) as cluster, Admin(nameserver=cluster.nameserver) as admin:
        apache = Apache(newest_class_path, tmp_path / "apache", conf=MASTER, nameserver=cluster.nameserver)
        greets = OurBroker(
            tmp_path / "one", cluster.nameserver, "SLAVE", "replication.id=1", "replication.hello=always"
        )
        slave = OurBroker(tmp_path / "two", cluster.nameserver, "SLAVE", "replication.id=2")
        apache.home.mkdir()

        def trouble() -> str:
            return str(admin.brokers.runtime(greets.address)["replicationTrouble"])

        with apache, greets.running(), slave.running():
            send(cluster.nameserver, 0, 10)
            until(lambda: "does not say that it takes a hello" in trouble(), seconds=60)
            master = apache.servers.broker
            until(lambda: log_end(admin, slave.address) == log_end(admin, master) > 0, seconds=60)
            assert log_end(admin, greets.address) == 0


def committed(nameserver: str, group: str) -> int:
    """How many messages of all queues `group` is done with, by the broker that is there."""
    with Puller(group=group, nameserver=nameserver) as puller:
        return sum(puller.committed(queue) or 0 for queue in puller.queues("copied"))


def members(address: str, group: str) -> list[str]:
    """The members of `group` that the broker at `address` knows."""
    client = BlockingClient(SystemClock(), NetSettings())
    try:
        answer = client.invoke(address, GetConsumerListByGroup(group), timeout=5)
        return [] if answer.code else decode(bytes(answer.body), ConsumerList).consumer_id_list
    finally:
        client.close()


@pytest.mark.proves("replication", by="Apache 5.3.3")
def test_a_java_consumer_goes_on_from_our_slave_and_returns_to_our_master(
    newest_java: StartJava, tmp_path: Path
) -> None:
    with Cluster(0) as cluster, Admin(nameserver=cluster.nameserver) as admin:
        names = cluster.nameserver
        master = OurBroker(tmp_path / "master", names, "ASYNC_MASTER")
        slave = OurBroker(
            tmp_path / "slave", names, "SLAVE", "replication.id=1", "replication.tables_interval_ms=500",
            "broker.register_interval_ms=10000",
        )  # fmt: skip
        consume = ("consume", names, "copied", "java", "*", "slowly")
        with slave.running():
            with master.running() as process:
                send(names, 0, 200)
                until(lambda: log_end(admin, slave.address) == log_end(admin, master.address), seconds=60)
                consumer = newest_java(*consume)
                found = [line[-1][:6] for line in consumer.take("got", 40)]
                process.kill()
                process.wait()
            while len(set(found)) < 200:
                found += [line[-1][:6] for line in consumer.take("got", 1)]
            assert set(found) == {f"{number:06}" for number in range(200)}
            until(lambda: not has_master(admin) and committed(names, "java") == 200, seconds=60)
            consumer.finish()
            until(lambda: not members(slave.address, "java"), seconds=60)
            # Who joins now begins where the others were, and has all queues before the master is back: one
            # that asks that for an offset before it was told what is committed here gets what it knows.
            later = newest_java(*consume)
            later.take("holds", 1)
            with master.running():
                until(lambda: has_master(admin) and committed(names, "java") == 200, seconds=60)
                send(names, 200, 8)
                assert {line[-1][:6] for line in later.take("got", 8)} == {f"{n:06}" for n in range(200, 208)}
                until(lambda: committed(names, "java") == 208, seconds=60)
                assert not [line for line in later.finish() if line[0] == "got"]


def text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@pytest.mark.slow
@pytest.mark.proves("replication", by="Apache 5.3.3")
def test_a_python_consumer_goes_on_from_a_slave_of_apaches(newest_class_path: str, tmp_path: Path) -> None:
    """Apache's slave copies topics and progress for the first time after a minute."""
    with Cluster(0) as cluster, Admin(nameserver=cluster.nameserver) as admin:
        names = cluster.nameserver
        apache = Apache(newest_class_path, tmp_path / "master", conf=MASTER, nameserver=names)
        second = ApacheSlave(newest_class_path, tmp_path / "slave", conf=SLAVE, nameserver=names)
        apache.home.mkdir()
        second.home.mkdir()
        found: list[bytes] = []
        consumer = PushConsumer(group="python", nameserver=names, consume_from="first")
        consumer.on("copied")(lambda message: found.append(message.body[:6]))
        with apache:
            send(names, 0, 100)
            with second, consumer:
                master, slave = apache.servers.broker, second.servers.broker
                until(lambda: len(found) == 100 and committed(names, "python") == 100, seconds=60)
                tables = second.home / "store" / "config"
                until(lambda: '"copied"' in text_of(tables / "topics.json"), seconds=120)
                until(lambda: "copied@python" in text_of(tables / "consumerOffset.json"), seconds=60)
                consumer.suspend()
                send(names, 100, 60)
                until(lambda: log_end(admin, slave) == log_end(admin, master) > 0, seconds=60)
                apache.stop()  # it is killed
                until(lambda: not has_master(admin), seconds=60)
                consumer.resume()
                until(lambda: len(found) == 160, seconds=120)
                assert sorted(found) == [b"%06d" % number for number in range(160)]
                until(lambda: committed(names, "python") == 160, seconds=60)


@pytest.mark.proves("replication", by="Apache 5.3.3")
def test_a_master_of_apaches_that_is_back_is_told_what_was_committed_at_our_slave(
    newest_class_path: str, tmp_path: Path
) -> None:
    with Cluster(0) as cluster, Admin(nameserver=cluster.nameserver) as admin:
        names = cluster.nameserver
        apache = Apache(newest_class_path, tmp_path / "apache", conf=MASTER, nameserver=names)
        slave = OurBroker(
            tmp_path / "ours", names, "SLAVE", "replication.id=1", "broker.register_interval_ms=10000"
        )
        apache.home.mkdir()
        found: list[bytes] = []
        consumer = PushConsumer(group="python", nameserver=names, consume_from="first")
        consumer.on("copied")(lambda message: found.append(message.body[:6]))
        with apache:
            send(names, 0, 40)
            with slave.running():
                with consumer:
                    master = apache.servers.broker
                    until(lambda: len(found) == 40 and committed(names, "python") == 40, seconds=60)
                    until(lambda: log_end(admin, slave.address) == log_end(admin, master) > 0, seconds=60)
                    consumer.suspend()
                    send(names, 40, 20)
                    until(lambda: log_end(admin, slave.address) == log_end(admin, master), seconds=60)
                    apache.stop()  # it is killed
                    until(lambda: not has_master(admin), seconds=60)
                    consumer.resume()
                    until(lambda: len(found) == 60 and committed(names, "python") == 60, seconds=120)
                apache.restart_broker()
                until(lambda: has_master(admin) and committed(names, "python") == 60, seconds=120)
                assert sorted(found) == [b"%06d" % number for number in range(60)]
