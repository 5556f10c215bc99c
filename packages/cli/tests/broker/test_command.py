"""`mqframe broker drain` against running brokers; running one is in test_server.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from command_runs import read, refused, run
from mqframe_testing.cluster import Cluster

from mqframe import Message, MessageQueue, Producer


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(2) as running:
        yield running


@pytest.fixture
def producer(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Producer]:
    monkeypatch.setenv("NAMESRV_ADDR", cluster.nameserver)
    with Producer("shop", nameserver=cluster.nameserver) as made:
        yield made


def test_a_broker_is_emptied_and_used_again(producer: Producer) -> None:
    run("topic", "create", "drained", "--queues", "1")
    run("group", "create", "audit")
    at_a = MessageQueue("drained", "broker-a", 0)
    producer.send(Message("drained", b"1"), queue=at_a)
    run("offset", "reset", "audit", "drained", "--to", "start")
    shown = read("broker", "drain", "broker-a", "--status")
    assert (shown["draining"], shown["unconsumed"], shown["may_go"]) == (False, 1, False)
    shown = read("broker", "drain", "broker-a")
    assert shown["waits_for"] == "1 messages for group audit"
    assert (shown["draining"], shown["half"], shown["in_flight"], shown["delayed"]) == (True, 0, 0, 0)
    assert producer.send(Message("drained", b"2")).queue.broker_name == "broker-b"
    assert "may not go yet: 1 messages for group audit" in refused(
        "broker", "drain", "broker-a", "--wait", "0", code=3
    )
    run("offset", "reset", "audit", "drained", "--to", "end")
    shown = read("broker", "drain", "broker-a", "--wait", "60")
    assert (shown["may_go"], shown["waits_for"]) == (True, "")
    assert read("broker", "drain", "broker-a", "--undo")["draining"] is False
    assert producer.send(Message("drained", b"3"), queue=at_a).queue == at_a
    run("broker", "drain", "broker-a", "--undo", "--status", code=2)
    run("broker", "drain", "nobody", code=2)


def test_its_help_has_what_runs_a_broker_and_what_empties_one() -> None:
    said = run("broker", "--help")
    assert "--name" in said
    assert "drain" in said


def test_a_topic_is_moved(producer: Producer) -> None:
    run("topic", "create", "moved", "--queues", "2", "--broker", "broker-a")
    run("group", "create", "readers")
    producer.send(Message("moved", b"1"))
    run("offset", "reset", "readers", "moved", "--to", "start")
    move = ("topic", "move", "moved", "--from", "broker-a")
    shown = read(*move, "--to", "broker-b")
    assert (shown["to"], shown["state"], shown["left"]) == ("broker-b", "leaving", 1)
    assert read(*move)["waits_for"] == "1 messages for group readers"
    assert "cannot leave broker-a yet" in refused(*move, "--finish")
    run("offset", "reset", "readers", "moved", "--to", "end")
    assert read(*move, "--wait", "60")["state"] == "empty"
    assert read(*move, "--finish")["state"] == "gone"
    rows = read("topic", "show", "moved")
    assert [(row["broker"], row["perm"]) for row in rows] == [("broker-a", 0), ("broker-b", 6)]
