"""Delayed messages between Java clients and our broker, and timer files between Apache's broker and ours."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from interop.apache import Apache
from interop.until import until

from mqframe import Admin, Message, Producer
from mqframe.client.blocking_pull import BlockingPuller
from mqframe.core.message import ReceivedMessage
from mqframe.core.record import decode_records
from mqframe.core.timer_layout import UNIT, decode_unit
from mqframe.testing import Cluster

LEVEL_LATE_MS = 1000
TIMER_LATE_MS = 2200
"""Far more than is promised: the machine has other things to do as well."""

APACHE_STORE = {
    "commit_log_file_bytes": 16_777_216,
    "queue_file_bytes": 600_000,
    "index_slots": 5000,
    "index_entries": 20_000,
}


def check_times(sent: list[list[str]], got: list[list[str]], delay_ms: int, late_ms: int) -> None:
    """Each of `sent` came once, not before its time and not long after."""
    assert [line[1] for line in sent] == ["SEND_OK"] * len(sent)
    times = {line[3]: int(line[4]) for line in got}
    assert sorted(line[3] for line in got) == sorted(line[3] for line in sent)
    for _, _, _, message_id, began in sent:
        assert delay_ms <= times[message_id] - int(began) <= delay_ms + late_ms


@pytest.mark.parametrize(
    ("wish", "value", "delay_ms", "late_ms"),
    [("DELAY", "1", 1000, LEVEL_LATE_MS), ("TIMER_DELAY_MS", "1500", 1500, TIMER_LATE_MS)],
)
def test_java_sends_for_later_and_gets_it_then(
    java, cluster: Cluster, wish, value, delay_ms, late_ms
) -> None:
    cluster.create_topic("later", queues=2)
    consumer = java("Delay", "consume", cluster.nameserver, "later", "later_group")
    consumer.take("started", 1)
    sent = java("Delay", "send", cluster.nameserver, "later", wish, value, "6").finish()
    got = consumer.take("got", 6)
    assert {(line[1], line[5]) for line in got} == {("later", "later")}
    check_times(sent, got, delay_ms, late_ms)
    assert not [line for line in consumer.finish() if line[0] == "got"]


def test_java_is_told_what_cannot_be(java, cluster: Cluster) -> None:
    cluster.create_topic("never", queues=1)
    for wish, value in (("TIMER_DELAY_SEC", "259201"), ("TIMER_DELIVER_MS", "tomorrow")):
        (line,) = java("Delay", "send", cluster.nameserver, "never", wish, value, "1").finish()
        assert line[:2] == ["refused", "13"]
        assert "timerMaxDelaySec" in line[2] or "tomorrow" in line[2]


def test_java_takes_back(newest_java, cluster: Cluster) -> None:
    cluster.create_topic("back", queues=1)
    consumer = newest_java("Delay", "consume", cluster.nameserver, "back", "back_group")
    consumer.take("started", 1)
    lines = newest_java("Delay", "recall", cluster.nameserver, "back").finish()
    first, second, recalled, refused = lines
    assert recalled == ["recalled", first[3]]
    assert refused[0] == "not-recalled"
    assert "recall handle is invalid" in refused[1]
    check_times([second], consumer.take("got", 1), 3000, TIMER_LATE_MS)
    time.sleep(0.5)
    assert not [line for line in consumer.finish() if line[0] == "got"]


def units_in(store: Path) -> int:
    """How many units the timer log of a store holds."""
    files = sorted((store / "timerlog").glob("0*"))
    raw = files[0].read_bytes()[:520] if files else b""
    return sum(decode_unit(raw, at) is not None for at in range(0, len(raw) - UNIT.size, UNIT.size))


def stored_in(cluster: Cluster, topic: str) -> list[ReceivedMessage]:
    found = cluster.broker.store.get(topic, 0, 0, 100)
    return [message for part in found.parts for message in decode_records(part)]


def continued(home: Path) -> Cluster:
    """Our broker on the store that lies in `home`/store."""
    return Cluster(directory=home, broker={"name": "store"}, store=APACHE_STORE)


def test_ours_delivers_what_waits_in_a_wheel_of_apaches(newest_class_path: str, tmp_path: Path) -> None:
    with Apache(newest_class_path, tmp_path) as apache:
        nameserver = apache.servers.nameserver
        with Admin(nameserver=nameserver) as admin:
            admin.create_topic("waits", queues=1)
            until(lambda: "waits" in admin.list_topics())
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
            late = messages[b"%d" % number].store_timestamp - due - number
            assert 0 <= late <= TIMER_LATE_MS
        assert messages[b"gone"].properties["TIMER_OUT_MS"] == str((due - 1) // 1000 * 1000)
        assert messages[b"level"].properties["DELAY"] == "2"


@pytest.mark.parametrize("kill", [False, True])
def test_apaches_delivers_what_waits_in_a_wheel_of_ours(
    newest_class_path: str, tmp_path: Path, kill: bool
) -> None:
    with continued(tmp_path) as cluster:
        cluster.create_topic("waits", queues=1)
        due = int(time.time() * 1000) + 9000
        with Producer("waiting", nameserver=cluster.nameserver) as producer:
            for number in range(4):
                producer.send(Message("waits", b"%d" % number), deliver_at=due + number)
            gone = producer.send(Message("waits", b"gone"), deliver_at=due)
            producer.recall("waits", gone.recall_handle)
            producer.send(Message("waits", b"level"), delay_level=2)
        until(lambda: units_in(tmp_path / "store") == 6)
        if kill:
            cluster.kill_broker()
    with Apache(newest_class_path, tmp_path) as apache:
        got: dict[bytes, int] = {}
        with BlockingPuller(nameserver=apache.servers.nameserver) as puller:

            def all_there() -> bool:
                for queue in puller.queues("waits"):
                    for message in puller.pull(queue, 0, 32).messages:
                        got[message.body] = message.store_timestamp
                return len(got) >= 5

            until(all_there)
            time.sleep(1.5)
            all_there()
    assert sorted(got) == [b"0", b"1", b"2", b"3", b"level"]
    for number in range(4):
        assert got[b"%d" % number] >= due + number
