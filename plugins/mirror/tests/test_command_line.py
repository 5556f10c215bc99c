"""`mqframe mirror` between two clusters in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_runs import read, refused, run
from mqframe_testing import Cluster

from mqframe import Message, MessageQueue, Producer, Puller

QUEUE = MessageQueue("orders", "broker-a", 0)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs go where the tests of this process want them."""
    monkeypatch.setattr("mqframe.log.show", lambda **_: None)


@pytest.fixture
def clusters() -> Iterator[tuple[Cluster, Cluster]]:
    with Cluster() as tokyo, Cluster() as berlin:
        tokyo.create_topic("orders", 1)
        yield tokyo, berlin


@pytest.fixture
def file(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> str:
    tokyo, berlin = clusters
    path = tmp_path / "mirror.toml"
    path.write_text(
        f'topics = ["orders"]\ngroups = ["billing"]\n'
        f'[from]\nname = "tokyo"\nnameserver = "{tokyo.nameserver}"\n'
        f'[to]\nname = "berlin"\nnameserver = "{berlin.nameserver}"\n'
    )
    return str(path)


def bodies(cluster: Cluster) -> list[bytes]:
    with Puller(nameserver=cluster.nameserver) as puller:
        return [each.body for each in puller.pull(QUEUE, 0).messages]


def send(cluster: Cluster, *texts: bytes) -> None:
    with Producer("shop", nameserver=cluster.nameserver) as producer:
        for text in texts:
            producer.send(Message("orders", text), queue=QUEUE)


def test_options_say_it_all(clusters: tuple[Cluster, Cluster]) -> None:
    tokyo, berlin = clusters
    send(tokyo, b"1", b"2")
    ends = [
        "--from",
        tokyo.nameserver,
        "--to",
        berlin.nameserver,
        "--from-name",
        "tokyo",
        "--to-name",
        "berlin",
    ]
    for _ in range(2):
        run("mirror", *ends, "--topics", "orders-*,orders", "--once")
    assert bodies(berlin) == [b"1", b"2"]


def test_a_file_may_say_it_and_status_tells_what_is_left(
    clusters: tuple[Cluster, Cluster], file: str
) -> None:
    tokyo, berlin = clusters
    send(tokyo, b"1", b"2")
    with Puller("billing", nameserver=tokyo.nameserver) as puller:
        puller.pull(QUEUE, 0)
        puller.commit(QUEUE, 1)
    run("mirror", "-f", file, "--once")
    assert bodies(berlin) == [b"1", b"2"]
    with Puller("billing", nameserver=berlin.nameserver) as puller:
        assert puller.committed(QUEUE) == 1
    send(tokyo, b"3")
    [row] = read("mirror", "status", "-f", file)
    assert (row["topic"], row["queue"], row["committed"], row["lag"]) == ("orders", "broker-a/0", 2, 1)
    assert "broker-a/0" in run("mirror", "status", "-f", file)


def test_what_is_missing_is_told(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    tokyo, berlin = clusters
    assert "no [to]" in refused("mirror", "--from", "127.0.0.1:1", "--topics", "orders")
    assert "cannot be read" in refused("mirror", "-f", str(tmp_path / "none.toml"))
    ends = ["--from", tokyo.nameserver, "--to", berlin.nameserver]
    assert "both clusters are called DefaultCluster" in refused(
        "mirror", *ends, "--topics", "orders", "--once"
    )
    assert "topics" in refused("mirror", *ends)
