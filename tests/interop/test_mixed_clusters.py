"""Brokers of both kinds behind one name server, of either kind, and a store that both serve in turn."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mqframe_admin.rules.topic_move import MoveState
from mqframe_testing import Cluster
from mqframe_testing.ports import lasting_port
from real_time import until

from interop.apache import Apache
from mqframe import (
    Admin,
    AnswerError,
    FixError,
    LitePullConsumer,
    Message,
    MessageQueue,
    Producer,
    Puller,
    ReceivedMessage,
)

GROUP = "movers"


@contextlib.contextmanager
def our_broker(*words: str) -> Iterator[None]:
    """`mqframe broker`, which serves within the block and ends in good order."""
    command = [sys.executable, "-m", "mqframe", "broker", *words, "--set", "store.disk_limits=false"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("ready broker=")
        yield
    finally:
        process.terminate()
        code = process.wait(60)
        process.stdout.close()
    assert code == 0


def send(nameserver: str, queue: MessageQueue, *bodies: bytes) -> None:
    with Producer("p", nameserver=nameserver) as producer:
        for body in bodies:
            assert producer.send(Message(queue.topic, body), queue=queue).queue == queue


def consume(nameserver: str, queue: MessageQueue, count: int) -> list[bytes]:
    """The next `count` messages for the group, committed."""
    consumer = LitePullConsumer(GROUP, nameserver=nameserver, consume_from="first", auto_commit=False)
    consumer.assign([queue])
    with consumer:
        found: list[ReceivedMessage] = []
        while len(found) < count:
            found += consumer.poll(timeout=5.0)
        consumer.seek(queue, found[count - 1].queue_offset + 1)
        consumer.commit()
    return [message.body for message in found[:count]]


@pytest.mark.proves("store files", "mixed clusters", by="Apache 5.3.3")
def test_a_store_moves_to_apaches_broker_and_back_beside_a_broker_of_ours(
    newest_class_path: str, tmp_path: Path
) -> None:
    with Cluster() as cluster, Admin(nameserver=cluster.nameserver) as admin:
        names, conf = cluster.nameserver, "brokerClusterName=DefaultCluster\n"
        apache = Apache(newest_class_path, tmp_path, conf=conf, nameserver=names)
        file = str(apache.write_conf())
        moved, stays = MessageQueue("moved", "apache-a", 0), MessageQueue("moved", "broker-a", 0)
        with our_broker("--config", file):
            admin.topics.create("moved", queues=1)
            send(names, moved, b"0", b"1", b"2", b"3")
            assert consume(names, moved, 1) == [b"0"]
        with apache:
            both = {"apache-a": apache.servers.broker, "broker-a": cluster.broker.address}
            assert admin.cluster.masters(cluster="DefaultCluster") == both
            assert sorted(admin.topics.stats("moved")) == [moved, stays]
            assert consume(names, moved, 1) == [b"1"]
            send(names, moved, b"4")
            send(names, stays, b"5")
            # Sent to no longer, read as ever.
            admin.brokers.update_config(apache.servers.broker, {"brokerPermission": "4"})
            until(lambda: {data.broker_name: data.perm for data in route(admin)}["apache-a"] == 4)
            with Producer("p", nameserver=names) as producer:
                sent = [producer.send(Message("moved", b"%d" % n)).queue for n in range(6, 10)]
            assert sent == [stays] * 4
            assert consume(names, moved, 1) == [b"2"]
            apache.end_broker()
        with our_broker("--config", file), Puller(nameserver=names) as puller:
            assert consume(names, moved, 2) == [b"3", b"4"]
            kept = puller.pull(moved, 0, wait=5.0).messages
            assert [message.body for message in kept] == [b"0", b"1", b"2", b"3", b"4"]
            assert puller.max_offset(stays) == 5


@pytest.mark.proves("mixed clusters", by="Apache 5.3.3")
def test_apaches_broker_is_drained_and_its_topic_moves_to_one_of_ours(
    newest_class_path: str, tmp_path: Path
) -> None:
    with Cluster() as cluster, Admin(nameserver=cluster.nameserver) as admin:
        names, conf = cluster.nameserver, "brokerClusterName=DefaultCluster\n"
        old, moves = MessageQueue("moved", "apache-a", 0), admin.topic_moves
        with Apache(newest_class_path, tmp_path, conf=conf, nameserver=names):
            admin.topics.create("moved", queues=2, broker="apache-a")
            send(names, old, b"0", b"1")
            assert consume(names, old, 1) == [b"0"]
            until(lambda: admin.topics.groups("moved") == [GROUP])
            until(lambda: tells_of_itself(admin, "apache-a"))
            begun = moves.begin("moved", "apache-a", ["broker-a"])
            assert (begun.targets, begun.perm, begun.left) == ({"broker-a": 2}, 4, {GROUP: 1})
            until(lambda: {data.broker_name: data.perm for data in route(admin)} == PERMISSIONS)
            with Producer("p", nameserver=names) as producer:
                sent = {producer.send(Message("moved", b"%d" % n)).queue.broker_name for n in range(2, 6)}
            assert sent == {"broker-a"}
            with pytest.raises(FixError, match="cannot leave apache-a yet: 1 messages for group movers"):
                moves.finish("moved", "apache-a")
            drained = admin.brokers.drain("apache-a")
            assert (drained.draining, drained.unconsumed[GROUP], drained.may_go) == (True, 1, False)
            assert (drained.half, drained.in_flight) == (None, None)
            assert consume(names, old, 1) == [b"1"]
            until(lambda: admin.brokers.drained("apache-a").may_go)
            done = moves.finish("moved", "apache-a")
            assert (done.state, done.targets) == (MoveState.GONE, {"broker-a": 2})
            assert not admin.brokers.undrain("apache-a").draining
            assert sum(each.max_offset for each in admin.topics.stats("moved").values()) == 2 + 4


def tells_of_itself(admin: Admin, broker: str) -> bool:
    """Whether it does: one of Apache's fails at that for the first second, until it has counted something."""
    try:
        return bool(admin.brokers.runtime(admin.cluster.masters()[broker]))
    except AnswerError:
        return False


PERMISSIONS = {"apache-a": 4, "broker-a": 6}


def route(admin: Admin):
    return admin.topics.route("moved").queue_datas


@pytest.mark.proves("mixed clusters", by="Apache 5.3.3")
def test_a_broker_of_ours_registers_with_apaches_name_server_and_one_of_ours(
    newest_class_path: str, tmp_path: Path
) -> None:
    apache = Apache(newest_class_path, tmp_path)
    try:
        apache.start_names()
        with Cluster() as cluster:
            both = [apache.servers.nameserver, cluster.nameserver]
            port = str(lasting_port(-2))
            words = ("--nameserver", ";".join(both), "--name", "broker-z", "--port", port)
            with our_broker(*words, "--data", str(tmp_path / "data")):
                for nameserver in both:
                    with Admin(nameserver=nameserver) as admin:
                        assert admin.cluster.masters()["broker-z"] == f"127.0.0.1:{port}"
                queue = MessageQueue("shared", "broker-z", 0)
                with Admin(nameserver=both[0]) as admin:
                    admin.topics.create("shared", queues=1)
                for nameserver in both:
                    with Admin(nameserver=nameserver) as admin:
                        until(lambda: "shared" in admin.topics.list())
                    send(nameserver, queue, nameserver.encode())
                assert consume(";".join(both), queue, 2) == [each.encode() for each in both]
            for nameserver in both:
                with Admin(nameserver=nameserver) as admin:
                    # Apache's answers before its BatchUnregistrationService has removed the broker.
                    until(lambda: "broker-z" not in admin.cluster.info().broker_addr_table)
    finally:
        apache.stop()
