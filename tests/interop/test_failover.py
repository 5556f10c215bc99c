"""An elected group under the load of Java and Python clients: brokers and engine die, nothing is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from elected_group import ElectedGroup, Etcd, SharedFile
from real_time import until
from steady_load import CLIENT, TOPIC, Sender, consuming, rests, sending, stored

from interop.conftest import StartJava, need
from interop.foreign import ForeignClient
from interop.mqadmin import rows, running
from mqframe import Message, MqframeError, Producer, ProducerSettings, SendStatus
from mqframe.client.sending.blocking_transport import run_blocking
from mqframe.core.sending.retries import ONCE

SHORT = (
    "election.lease_ms=3000",
    "election.renew_ms=700",
    "election.margin_ms=500",
    "election.first_wait_ms=500",
)
"""Here it is not the time that counts."""
TWO = "replication.min_in_sync=2"
SOME = 40
PAUSE_MS = 10
"""Of producers, between sends: all that is sent is read by three consumers."""


@pytest.fixture
def etcd() -> Iterator[Etcd]:
    """A member of etcd for this test alone; `ElectedGroup` starts it."""
    need("etcd")
    engine = Etcd()
    yield engine
    engine.end()


@contextmanager
def group_of_three(folder: Path, etcd: Etcd, *settings: str) -> Iterator[ElectedGroup]:
    """Three brokers in sync, with a topic that all of them know."""
    with ElectedGroup(folder, etcd, TWO, "replication.tables_interval_ms=1000", *settings) as group:
        group.leader()
        until(lambda: group.in_sync() == (1, 2, 3))
        group.admin.topics.create(TOPIC, queues=4)
        yield group


class JavaSender:
    """As `steady_load.Sender`, by a Java client."""

    def __init__(self, client: ForeignClient) -> None:
        self._client = client
        self._acknowledged: list[bytes] = []

    @property
    def acknowledged(self) -> list[bytes]:
        self._note(self._client.waiting("sent"))
        return self._acknowledged

    def _note(self, lines: list[list[str]]) -> None:
        self._acknowledged += [line[2].encode() for line in lines if line[:2] == ["sent", "SEND_OK"]]

    def stop(self) -> None:
        self._note(self._client.finish())


class Load(NamedTuple):
    """Who sends, and who got what."""

    senders: list[Sender | JavaSender]
    found: list[Callable[[], Counter[bytes]]]

    def goes_on(self, count: int = SOME) -> None:
        """Wait until each producer is told of some more that are stored."""
        goals = [(sender, len(sender.acknowledged) + count) for sender in self.senders]
        until(lambda: all(len(sender.acknowledged) >= goal for sender, goal in goals))

    def all_arrived(self) -> None:
        """Wait until each consumer got everything that was acknowledged to anybody."""
        sent = {body for sender in self.senders for body in sender.acknowledged}
        until(lambda: all(sent <= set(found()) for found in self.found))


@contextmanager
def load(group: ElectedGroup, java: StartJava) -> Iterator[Load]:
    """Java and Python clients at work; everything that was acknowledged is consumed by both in the end."""
    python = Sender(group.nameserver, pause_seconds=PAUSE_MS / 1000)
    of_java: Counter[bytes] = Counter()
    with consuming(group.nameserver) as of_python:
        consumer = java("Steady", "consume", group.nameserver, TOPIC, "java")
        consumer.take("started", 1)

        def read() -> Counter[bytes]:
            of_java.update(line[1].encode() for line in consumer.waiting("got"))
            return of_java

        sender = JavaSender(java("Steady", "send", group.nameserver, TOPIC, str(PAUSE_MS)))
        with sending(python):
            clients = Load([python, sender], [lambda: of_python, read])
            clients.goes_on()
            yield clients
            clients.goes_on()
            sender.stop()
        clients.all_arrived()
    in_topic = stored(group.nameserver)
    for each in clients.senders:
        assert set(each.acknowledged) <= set(in_topic)


def logs_are_alike(group: ElectedGroup) -> None:
    end = group.until_alike()
    logs = [member.log(end) for member in group.members.values()]
    assert len(logs[0]) == end > 0
    assert logs[1:] == logs[:1] * 2


def test_the_group_goes_on_when_its_leader_is_killed_and_rests_without_its_engine(
    newest_java: StartJava, tmp_path: Path, etcd: Etcd
) -> None:
    with group_of_three(tmp_path, etcd, *SHORT) as group:
        with load(group, newest_java) as clients:
            killed = group.leader()
            killed.kill()
            clients.goes_on()
            assert group.leader() is not killed
            killed.start()
            killed.ready()
            until(lambda: group.in_sync() == (1, 2, 3))
            assert group.leader() is not killed
            etcd.kill()
            assert rests(clients.senders)
            etcd.start()
            clients.goes_on()
        logs_are_alike(group)


def test_mqadmin_shows_a_group_as_a_master_with_its_slaves_and_the_epochs_of_each(
    newest_class_path: str, tmp_path: Path
) -> None:
    engine = SharedFile(tmp_path)
    with ElectedGroup(tmp_path, engine, TWO, *SHORT) as group:
        leader = group.leader()
        until(lambda: group.in_sync() == (1, 2, 3))
        group.admin.topics.create(TOPIC, queues=1)
        with Producer("p", nameserver=group.nameserver) as producer:
            producer.send(Message(TOPIC, b"one"))
        end = group.until_alike()
        with running(newest_class_path, group.nameserver, tmp_path) as mqadmin:
            status = "\n".join(mqadmin("haStatus", "-b", leader.address))
            assert f"#MasterCommitLogMaxOffset {end}" in status
            assert "#SlaveNum 2" in status
            assert "#InSyncSlaveNum 2" in status
            for follower in group.others(leader):
                told = "\n".join(mqadmin("haStatus", "-b", follower.address))
                assert f"#CommitLogMaxOffset {end}" in told
            listed = {(row[2], row[3]) for row in rows(mqadmin("clusterList"))}
            followers = {(str(each.number), each.address) for each in group.others(leader)}
            assert listed == {("0", leader.address), *followers}
            told = "\n".join(mqadmin("getBrokerEpoch", "-b", "group-a"))
            for each in group.members.values():
                assert (
                    f"#brokerAddr {each.address}\n#brokerId {each.number}\n"
                    f"#Epoch: EpochEntry{{epoch=1, startOffset=0, endOffset={end}}}"
                ) in told


class HeldSends:
    """Sends that are tried once, each in a thread of its own, and wait for their answer for a minute."""

    def __init__(self, nameserver: str) -> None:
        patient = ProducerSettings(send_timeout_seconds=60)
        self._producer = Producer("held", nameserver=nameserver, settings=patient, client=CLIENT)
        self._pool = ThreadPoolExecutor(2 * SOME)

    def __enter__(self) -> HeldSends:
        self._producer.start()
        self._producer.send(Message(TOPIC, b"first"))
        return self

    def __exit__(self, *problem: object) -> None:
        self._pool.shutdown()
        self._producer.stop()

    def send(self, name: str) -> list[Future[bool]]:
        """Begin to send `SOME` messages; whether each was acknowledged."""
        return [self._pool.submit(self._one, f"{name}-{number:04}".encode()) for number in range(SOME)]

    def _one(self, body: bytes) -> bool:
        try:
            sending = self._producer._running().send(Message(TOPIC, body), None, None, rules=ONCE)
            return run_blocking(sending).status is SendStatus.SEND_OK
        except MqframeError:
            return False


@pytest.mark.long
def test_a_leader_that_stood_still_for_longer_than_its_lease_acknowledges_nothing_and_follows(
    tmp_path: Path, etcd: Etcd
) -> None:
    with group_of_three(tmp_path, etcd, *SHORT) as group:
        old = group.leader()
        others = group.others(old)
        new = Sender(group.nameserver, "new")
        with HeldSends(group.nameserver) as held:
            end = group.until_alike()
            for other in others:
                other.pause()
            tail = held.send("tail")
            until(lambda: group.end_of(old) > end + SOME * 150)
            old.pause()
            late = held.send("late")
            for other in others:
                other.kill()  # with what arrived for it, and was not read yet
                other.start()
            for other in others:
                other.ready()
            with sending(new):
                until(lambda: len(new.acknowledged) >= SOME)
                old.resume()
                until(lambda: group.in_sync() == (1, 2, 3))
            assert group.leader() is not old
            assert not any(each.result() for each in tail + late)
        logs_are_alike(group)
        cut = old.cut()
        bodies = set(stored(group.nameserver))
        assert set(new.acknowledged) < bodies
        assert not [body for body in bodies if body.startswith((b"tail", b"late"))]
        assert b"tail-" in cut
        assert b"late-" not in cut
