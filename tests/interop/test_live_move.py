"""A broker moves between Apache's and ours while its clients go on: `docs/howto/move_live.md`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_runs import read, run
from mqframe_admin.rules.role_change import CHANGED_ROLE
from mqframe_testing import Cluster
from real_time import until

from interop.apache import Apache
from interop.conftest import java_class_path, newest_and
from interop.foreign_programs import OLDER
from interop.test_replication import MASTER, SLAVE, OurBroker, has_master, log_end, log_of, send
from mqframe import Admin, ConsumeResult, ListenerContext, PushConsumer, ReceivedMessage


@pytest.fixture(scope="module", params=newest_and(OLDER))
def version(request: pytest.FixtureRequest) -> str:
    """The version of Apache's broker."""
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def class_path(version: str) -> str:
    """Its jars."""
    return java_class_path(version)


AS_SLAVE = SLAVE.replace("brokerId=1", "brokerId=2")


class Movable(Apache):
    """Apache's broker, whose role changes by another file and a restart, as it has to."""

    broker_class = "HastyBroker"

    def start_as(self, conf: str) -> None:
        """Start it, having ended."""
        self._conf = conf
        self._start_broker()

    def kill(self) -> None:
        """End it by SIGKILL."""
        assert self._broker is not None
        self._broker.kill()
        self._broker.wait()

    def _registered(self, admin: Admin) -> bool:
        return "brokerRole=SLAVE" in self._conf or super()._registered(admin)


@contextlib.contextmanager
def consuming(nameserver: str) -> Iterator[set[bytes]]:
    """What a consumer gets that goes on all the time."""
    seen: set[bytes] = set()
    lock = threading.Lock()
    consumer = PushConsumer("goes-on", nameserver=nameserver, consume_from="first")

    @consumer.on("copied")
    def handle(messages: list[ReceivedMessage], context: ListenerContext) -> ConsumeResult:
        with lock:
            seen.update(message.body[:6] for message in messages)
        return ConsumeResult.SUCCESS

    with consumer:
        yield seen


def numbers(count: int) -> set[bytes]:
    return {b"%06d" % number for number in range(count)}


def same_logs(ours: OurBroker, apache: Apache, end: int) -> bool:
    mine, theirs = log_of(ours.log, end), log_of(apache.home / "store/commitlog", end)
    assert len(mine) == end
    return mine == theirs


@pytest.mark.proves("replication")
def test_a_broker_moves_to_ours_and_back_while_clients_go_on(class_path: str, tmp_path: Path) -> None:
    with Cluster(0) as cluster, Admin(nameserver=cluster.nameserver) as admin:
        names = ("--nameserver", cluster.nameserver)
        apache = Movable(class_path, tmp_path / "apache", conf=MASTER, nameserver=cluster.nameserver)
        ours = OurBroker(tmp_path / "ours", cluster.nameserver, "SLAVE", "replication.id=1")
        apache.home.mkdir()
        with apache, consuming(cluster.nameserver) as seen:
            theirs = apache.servers.broker

            def level() -> bool:
                return log_end(admin, ours.address) == log_end(admin, theirs) > 0

            send(cluster.nameserver, 0, 40)
            with ours.running():
                until(level)
                send(cluster.nameserver, 40, 10)
                until(level)
                # To ours.
                apache.end_broker()
                until(lambda: not has_master(admin))
                made = read("replica", "promote", "apache-a", "--id", "1", *names)
                assert (made["role"], made["overruled"]) == ("ASYNC_MASTER", [])
                send(cluster.nameserver, 50, 10)
                apache.start_as(AS_SLAVE)
                until(level)
                assert same_logs(ours, apache, log_end(admin, theirs))
                send(cluster.nameserver, 60, 10)
                until(level)
                # And back.
                made = read("replica", "demote", "apache-a", "--id", "3", "--tables", "120", *names)
                assert (made["role"], made["ready"], made["overruled"]) == ("SLAVE", [2], [])
                apache.end_broker()
                apache.start_as(MASTER)
                until(lambda: has_master(admin))
                send(cluster.nameserver, 70, 10)
                until(level)
                until(lambda: seen == numbers(80))
                end = log_end(admin, theirs)
                assert read("replica", "status", "apache-a", *names)[1]["role"] == "SLAVE"
        assert same_logs(ours, apache, end)


@pytest.mark.long
@pytest.mark.proves("replication")
def test_either_takes_over_when_the_other_is_killed(class_path: str, tmp_path: Path) -> None:
    with Cluster(0) as cluster, Admin(nameserver=cluster.nameserver) as admin:
        names = ("--nameserver", cluster.nameserver)
        # Without a timer it has no tables of it, which is none that a slave lacks.
        conf = f"{MASTER}timerWheelEnable=false\n"
        apache = Movable(class_path, tmp_path / "apache", conf=conf, nameserver=cluster.nameserver)
        ours = OurBroker(tmp_path / "ours", cluster.nameserver, "SLAVE", "replication.id=1")
        apache.home.mkdir()
        with apache, consuming(cluster.nameserver) as seen:
            theirs = apache.servers.broker

            def level() -> bool:
                return log_end(admin, ours.address) == log_end(admin, theirs) > 0

            send(cluster.nameserver, 0, 30)
            with ours.running() as process:
                until(level)
                states = {row["id"]: row["state"] for row in read("replica", "status", "apache-a", *names)}
                assert states[1].startswith("follows ")
                apache.kill()
                until(lambda: not has_master(admin))
                run("replica", "promote", "apache-a", "--id", "1", *names)
                send(cluster.nameserver, 30, 10)
                apache.start_as(AS_SLAVE)
                until(level)
                until(lambda: seen == numbers(40))
                process.kill()
                process.wait()
            until(lambda: not has_master(admin))
            apache.kill()
            apache.start_as(MASTER)
            until(lambda: has_master(admin))
            send(cluster.nameserver, 40, 10)
            # It was promoted, and would be master again: its configured role is to count.
            (tmp_path / "ours/store/config" / CHANGED_ROLE).unlink()
            with ours.running():
                until(level)
                until(lambda: seen == numbers(50))
                end = log_end(admin, theirs)
        assert same_logs(ours, apache, end)
