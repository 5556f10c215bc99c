"""Mirrors between Apache's servers and ours, in both directions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from certificates import Pems
from command_runs import read, run
from mqframe_testing import Cluster
from real_time import until

from interop.guarded import ADMIN, signed
from interop.servers import Servers
from mqframe import (
    Admin,
    Message,
    MessageQueue,
    Producer,
    Puller,
    ReceivedMessage,
    TransactionProducer,
)

QUEUES = 3
GROUP = "mirrored-billing"
LARGE = b"\x00\xff large \x01" * 20_000


class End:
    """One of the two clusters; `access`: what its clients need."""

    def __init__(self, nameserver: str, broker: str, **access: Any) -> None:
        self.nameserver = nameserver
        self.broker = broker
        self.access = {"nameserver": nameserver, **access}

    def queue(self, topic: str, number: int) -> MessageQueue:
        return MessageQueue(topic, self.broker, number)

    def messages(self, topic: str, number: int) -> list[ReceivedMessage]:
        queue, found = self.queue(topic, number), []
        with Puller(**self.access) as puller:
            offset, end = puller.min_offset(queue), puller.max_offset(queue)
            while offset < end:
                result = puller.pull(queue, offset)
                found += result.messages
                offset = max(offset + 1, result.next_offset)
        return found

    def create(self, topic: str) -> None:
        with Admin(**self.access) as admin:
            admin.topics.create(topic, queues=QUEUES)
            until(lambda: topic in admin.topics.list())

    def stand(self, topic: str, number: int, offset: int) -> None:
        with Admin(**self.access) as admin:
            admin.groups.create(GROUP)
        with Puller(GROUP, **self.access) as puller:
            puller.commit(self.queue(topic, number), offset)

    def standing(self, topic: str, number: int) -> int | None:
        with Puller(GROUP, **self.access) as puller:
            return puller.committed(self.queue(topic, number))


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs go where the tests of this process want them."""
    monkeypatch.setattr("mqframe.log.show", lambda **_: None)


@pytest.mark.parametrize("back", [False, True], ids=["to_ours", "to_apaches"])
def test_topics_and_groups_are_mirrored(apache: Servers, cluster: Cluster, back: bool) -> None:
    ends = End(apache.nameserver, apache.broker_name), End(cluster.nameserver, "broker-a")
    source, target = reversed(ends) if back else ends
    topic = f"mirrored_{time.time_ns()}"
    source.create(topic)
    send_all(source, topic)
    words = ["mirror", "--from", source.nameserver, "--to", target.nameserver, "--topics", topic]
    words += ["--groups", GROUP]
    for offset in (20, 40):
        source.stand(topic, 0, offset)
        run(*words, "--once")
        check_copies(source, target, topic)
        assert target.standing(topic, 0) == offset
    with Producer("mirror-shop", **source.access) as producer:
        producer.send(Message(topic, b"one more"), queue=source.queue(topic, 1))
    rows = read("mirror", "status", *words[1:-2])
    assert [row["lag"] for row in rows] == [0, 1, 0]
    run(*words, "--once")
    check_copies(source, target, topic)


@pytest.mark.parametrize("back", [False, True], ids=["to_ours", "to_apaches"])
def test_each_side_has_keys_and_tls_of_its_own(
    guarded: Servers,
    cluster: Cluster,
    pems: Pems,
    back: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    access = {**signed(), "net": pems.client()}
    ends = End(guarded.nameserver, guarded.broker_name, **access), End(cluster.nameserver, "broker-a")
    source, target = reversed(ends) if back else ends
    topic = f"guarded_{time.time_ns()}"
    source.create(topic)
    with Producer("mirror-shop", **source.access) as producer:
        producer.send(Message(topic, b"1", tag="paid"), queue=source.queue(topic, 2))
    monkeypatch.setenv("APACHES_SECRET", ADMIN["secret_key"])
    tables = [
        f'[from]\nnameserver = "{source.nameserver}"\n',
        f'[to]\nnameserver = "{target.nameserver}"\n',
    ]
    tables[back] += f'access_key = "{ADMIN["access_key"]}"\nsecret_variable = "APACHES_SECRET"\n'
    tables[back] += f'tls = true\ntls_ca_file = "{pems.ca}"\n'
    file = tmp_path / "mirror.toml"
    file.write_text(f'topics = ["{topic}"]\n{"".join(tables)}')
    for _ in range(2):
        run("mirror", "-f", str(file), "--once")
        check_copies(source, target, topic)
    assert [row["lag"] for row in read("mirror", "status", "-f", str(file))] == [0, 0, 0]


def send_all(source: End, topic: str) -> None:
    """Messages of all kinds; those of the first queue are fifty."""
    with Producer("mirror-shop", **source.access) as producer:
        for number in range(50):
            sent = Message(
                topic, b"%d" % number, tag="paid", keys=["o", f"o-{number}"], properties={"é": "ü 漢"}
            )
            producer.send(sent, queue=source.queue(topic, 0))
        producer.send(Message(topic, LARGE, flag=9), queue=source.queue(topic, 1))
        batch = [Message(topic, b"batch %d" % number, tag="t") for number in range(5)]
        producer.send_batch(batch, queue=source.queue(topic, 1))
        producer.send(Message(topic, b"later"), queue=source.queue(topic, 2), delay_level=1)
    with TransactionProducer("mirror-transactions", **source.access) as producer:
        with producer.transaction(Message(topic, b"committed")):
            pass
        with pytest.raises(ZeroDivisionError), producer.transaction(Message(topic, b"rolled back")):
            raise ZeroDivisionError
    until(lambda: sum(len(source.messages(topic, number)) for number in range(QUEUES)) == 58)


def check_copies(source: End, target: End, topic: str) -> None:
    """Each queue of the target is that of the source."""
    for number in range(QUEUES):
        assert told(target.messages(topic, number)) == told(source.messages(topic, number))


def told(messages: list[ReceivedMessage]) -> list[tuple[object, ...]]:
    return [
        (each.message_id, each.body, each.tag, each.keys, each.flag, each.properties.get("é"))
        for each in messages
    ]
