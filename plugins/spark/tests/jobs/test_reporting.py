"""Lags, without Spark."""

import pytest
from mqframe_spark.jobs.reporting import Report, by_topic, check_report, lags

from mqframe import Admin, Message, MessageQueue, Producer, Puller
from mqframe.core.errors import SettingError


def lag(group: str, topic: str, queue: int, behind: int | None) -> dict:
    return {"group": group, "topic": topic, "broker": "a", "queue": queue, "lag": behind}


def test_queues_without_an_offset_do_not_count_as_lag() -> None:
    rows = [lag("g", "t", 0, 3), lag("g", "t", 1, None), lag("g", "t", 2, 4), lag("h", "t", 0, None)]
    assert by_topic(rows) == [
        {"group": "g", "topic": "t", "queues": 3, "without_offset": 1, "lag": 7},
        {"group": "h", "topic": "t", "queues": 1, "without_offset": 1, "lag": None},
    ]


def test_an_unknown_grouping_is_named() -> None:
    with pytest.raises(SettingError, match="--by minute: choose one of topic, queue, hour"):
        check_report(Report(source={}, by="minute"))


def test_lags_come_from_brokers_and_from_a_stores_files(mqframe_cluster) -> None:
    cluster = mqframe_cluster
    cluster.create_topic("lagging", 2)
    with Admin(nameserver=cluster.nameserver) as admin:
        admin.create_group("slow")
    with Producer("p", nameserver=cluster.nameserver) as producer:
        for number in range(7):
            producer.send(Message("lagging", b"x"), queue=MessageQueue("lagging", "broker-a", number % 2))
    with Puller(cluster.nameserver, "slow") as puller:
        puller.commit(MessageQueue("lagging", "broker-a", 0), 1)
    brokers = {"nameserver": cluster.nameserver, "topic": "lagging"}
    first, second = [MessageQueue("lagging", "broker-a", number) for number in (0, 1)]

    def line(queue: MessageQueue, consumed: int | None, end: int, lag: int | None) -> dict:
        return {
            "group": "slow",
            "topic": "lagging",
            "broker": queue.broker_name,
            "queue": queue.queue_id,
            "consumed": consumed,
            "end": end,
            "lag": lag,
        }

    # A broker says 0 of a group that has no offset in a queue that is whole.
    found = lags(Report(source=brokers, by="queue", groups=("slow",)))
    assert found == [line(first, 1, 4, 3), line(second, 0, 3, 3)]
    summed = {"group": "slow", "topic": "lagging", "queues": 2, "without_offset": 0, "lag": 6}
    assert lags(Report(source=brokers, groups=("slow",))) == [summed]
    cluster.stop_broker()
    files = {"mode": "files", "path": str(cluster.directory / "broker-a"), "topic": "lagging"}
    found = lags(Report(source=files, by="queue", groups=("slow",)))
    assert found == [line(first, 1, 4, 3), line(second, None, 3, None)]
