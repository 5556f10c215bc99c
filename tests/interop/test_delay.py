"""Delayed messages between Java clients and our broker, and timer files between Apache's broker and ours."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from mqframe_delay.rules.timer_layout import UNIT, decode_unit
from mqframe_pull.puller.blocking_puller import Puller
from mqframe_testing import Cluster
from real_time import until

from interop.apache import Apache
from mqframe import Admin, Message, Producer
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.record import decode_records

pytestmark = pytest.mark.proves("delay")

APACHE_STORE = {
    "commit_log_file_bytes": 16_777_216,
    "queue_file_bytes": 600_000,
}


def check_times(sent: list[list[str]], got: list[list[str]], delay_ms: int) -> None:
    """Each of `sent` came once, and not before its time. How long after says much about the machine."""
    assert [line[1] for line in sent] == ["SEND_OK"] * len(sent)
    times = {line[3]: int(line[4]) for line in got}
    assert sorted(line[3] for line in got) == sorted(line[3] for line in sent)
    for _, _, _, message_id, began in sent:
        assert times[message_id] - int(began) >= delay_ms


def test_java_sends_for_later_and_gets_it_then(java, cluster: Cluster) -> None:
    wishes = {"DELAY": ("1", 1000), "TIMER_DELAY_MS": ("1500", 1500)}
    cluster.create_topic("later", queues=2)
    consumer = java("Delay", "consume", cluster.nameserver, "later", "later_group")
    consumer.take("started", 1)
    words = [word for wish, (value, _) in wishes.items() for word in (wish, value, "6")]
    sent = java("Delay", "send", cluster.nameserver, "later", *words).finish()
    got = consumer.take("got", 12)
    assert {(line[1], line[5]) for line in got} == {("later", "later")}
    for wish, (_, delay_ms) in wishes.items():
        by_wish = [[line for line in lines if line[2].startswith(wish)] for lines in (sent, got)]
        assert [len(lines) for lines in by_wish] == [6, 6]
        check_times(*by_wish, delay_ms)
    assert not [line for line in consumer.finish() if line[0] == "got"]


def test_java_is_told_what_cannot_be(java, cluster: Cluster) -> None:
    cluster.create_topic("never", queues=1)
    words = ["TIMER_DELAY_SEC", "259201", "1", "TIMER_DELIVER_MS", "tomorrow", "1"]
    late, none = java("Delay", "send", cluster.nameserver, "never", *words).finish()
    assert late[:2] == none[:2] == ["refused", "13"]
    assert "timerMaxDelaySec" in late[2]
    assert "tomorrow" in none[2]


@pytest.mark.proves("recall")
def test_java_takes_back(newest_java, cluster: Cluster) -> None:
    cluster.create_topic("back", queues=1)
    consumer = newest_java("Delay", "consume", cluster.nameserver, "back", "back_group")
    consumer.take("started", 1)
    lines = newest_java("Delay", "recall", cluster.nameserver, "back").finish()
    first, second, recalled, refused = lines
    assert recalled == ["recalled", first[3]]
    assert refused[0] == "not-recalled"
    assert "recall handle is invalid" in refused[1]
    check_times([second], consumer.take("got", 1), 3000)
    time.sleep(0.5)
    assert not [line for line in consumer.finish() if line[0] == "got"]


def units_in(store: Path) -> int:
    """How many units the timer log of a store holds."""
    files = sorted((store / "timerlog").glob("0*"))
    raw = files[0].read_bytes()[:520] if files else b""
    return sum(decode_unit(raw, at) is not None for at in range(0, len(raw) - UNIT.size, UNIT.size))


def stored_in(cluster: Cluster, topic: str) -> list[ReceivedMessage]:
    found = cluster.broker.store.reads.get(topic, 0, 0, 100)
    return [message for part in found.parts for message in decode_records(part)]


def continued(home: Path) -> Cluster:
    """Our broker on the store that lies in `home`/store."""
    return Cluster(directory=home, broker={"name": "store"}, store=APACHE_STORE)


@pytest.mark.proves("store files", by="Apache 5.3.3")
def test_ours_delivers_what_waits_in_a_wheel_of_apaches(newest_class_path: str, tmp_path: Path) -> None:
    with Apache(newest_class_path, tmp_path, conf="timerFlushIntervalMs=1000\n") as apache:
        nameserver = apache.servers.nameserver
        with Admin(nameserver=nameserver) as admin:
            admin.topics.create("waits", queues=1)
            until(lambda: "waits" in admin.topics.list())
        due = int(time.time() * 1000) + 6000
        with Producer("waiting", nameserver=nameserver) as producer:
            for number in range(4):
                sent = producer.send(Message("waits", b"%d" % number), deliver_at=due + number)
            producer.send(Message("waits", b"level"), delay_level=2)
            gone = producer.send(Message("waits", b"gone"), deliver_at=due)
            assert sent.recall_handle
            with pytest.raises(Exception, match="recall failed, operation is forbidden"):
                producer.recall("waits", gone.recall_handle)
        until(lambda: units_in(tmp_path / "store") == 5)
    with continued(tmp_path) as cluster:
        until(lambda: len(stored_in(cluster, "waits")) >= 6)
        time.sleep(0.3)
        messages = {message.body: message for message in stored_in(cluster, "waits")}
        assert len(stored_in(cluster, "waits")) == 6
        for number in range(4):
            assert messages[b"%d" % number].store_timestamp >= due + number
        assert messages[b"gone"].properties["TIMER_OUT_MS"] == str((due - 1) // 1000 * 1000)
        assert messages[b"level"].properties["DELAY"] == "2"


def taken_over_by_apache(
    class_path: str, folder: Path, lead_ms: int, *, kill: bool
) -> tuple[bool, int, dict[bytes, int]]:
    """What Apache's broker delivers of what waits in our files.

    `lead_ms`: how long it waits from its send on. Returns whether the broker was up before, when it was due,
    and the time at which each body was stored.
    """
    with continued(folder) as cluster:
        cluster.create_topic("waits", queues=1)
        due = int(time.time() * 1000) + lead_ms
        with Producer("waiting", nameserver=cluster.nameserver) as producer:
            for number in range(4):
                producer.send(Message("waits", b"%d" % number), deliver_at=due + number)
            gone = producer.send(Message("waits", b"gone"), deliver_at=due)
            producer.recall("waits", gone.recall_handle)
            producer.send(Message("waits", b"level"), delay_level=2)
        until(lambda: units_in(folder / "store") == 6)
        if kill:
            cluster.kill_broker()
    with Apache(class_path, folder) as apache:
        in_time = time.time() * 1000 < due - 1000
        got: dict[bytes, int] = {}
        with Puller(nameserver=apache.servers.nameserver) as puller:

            def all_there() -> bool:
                for queue in puller.queues("waits"):
                    for message in puller.pull(queue, 0, 32).messages:
                        got[message.body] = message.store_timestamp
                return len(got) >= 5

            until(all_there)
            time.sleep(1.5)
            all_there()
    return in_time, due, got


@pytest.mark.parametrize("kill", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.proves("store files", by="Apache 5.3.3")
def test_apaches_delivers_what_waits_in_a_wheel_of_ours(
    newest_class_path: str, tmp_path: Path, kill: bool
) -> None:
    # A broker that comes up when all is due already delivers in the order of sends and may know of no recall.
    for lead_ms in (7_000, 20_000, 60_000):
        folder = tmp_path / str(lead_ms)
        folder.mkdir()
        in_time, due, got = taken_over_by_apache(newest_class_path, folder, lead_ms, kill=kill)
        if in_time or b"gone" not in got:
            break
    assert sorted(got) == [b"0", b"1", b"2", b"3", b"level"]
    for number in range(4):
        assert got[b"%d" % number] >= due + number
