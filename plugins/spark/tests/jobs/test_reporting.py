"""Lags, without Spark, and traffic, with it."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from mqframe_spark.jobs.reporting import ReportPlan, by_topic, check_report, lags, report

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
        check_report(ReportPlan(source={}, by="minute"))


def test_lags_come_from_brokers_and_from_a_stores_files(mqframe_cluster) -> None:
    cluster = mqframe_cluster
    cluster.create_topic("lagging", 2)
    with Admin(nameserver=cluster.nameserver) as admin:
        admin.groups.create("slow")
    with Producer("p", nameserver=cluster.nameserver) as producer:
        for number in range(7):
            producer.send(Message("lagging", b"x"), queue=MessageQueue("lagging", "broker-a", number % 2))
    with Puller("slow", nameserver=cluster.nameserver) as puller:
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

    found = lags(ReportPlan(source=brokers, by="queue", groups=("slow",)))
    assert found == [line(first, 1, 4, 3), line(second, None, 3, None)]
    summed = {"group": "slow", "topic": "lagging", "queues": 2, "without_offset": 1, "lag": 3}
    assert lags(ReportPlan(source=brokers, groups=("slow",))) == [summed]
    with pytest.raises(SettingError, match=r"group slwo .* topic lagging; those with progress: slow"):
        lags(ReportPlan(source=brokers, groups=("slwo",)))
    cluster.stop_broker()
    files = {"mode": "files", "path": str(cluster.directory / "broker-a"), "topic": "lagging"}
    found = lags(ReportPlan(source=files, by="queue", groups=("slow",)))
    assert found == [line(first, 1, 4, 3), line(second, None, 3, None)]
    with pytest.raises(SettingError, match=r"group slwo .* topic lagging; those with progress: slow"):
        lags(ReportPlan(source=files, groups=("slwo",)))


def test_a_report_counts_by_topic_queue_and_hour(spark, place) -> None:
    first, second = place.topic("-1"), place.topic("-2")
    place.send(first, range(10, 15))
    place.send(second, range(100, 103))
    source = {**place.source, "topics": f"{first},{second}"}

    def counted(by: str) -> list[Any]:
        keys = ("topic", "queue", "hour", "messages", "bytes")
        return [
            tuple(row[key] for key in keys if key in row)
            for row in report(spark, ReportPlan(source=source, by=by))
        ]

    assert counted("topic") == [(first, 5, 10), (second, 3, 9)]
    assert counted("queue") == [(first, 0, 3, 6), (first, 1, 2, 4), (second, 0, 2, 6), (second, 1, 1, 3)]
    stored = [message.store_timestamp for topic in (first, second) for message in place.all(topic)]
    hours = Counter(datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:00Z") for at in stored)
    by_hour: Counter[str] = Counter()
    for _, hour, messages, _ in counted("hour"):
        by_hour[hour] += messages
    assert by_hour == hours
    row = report(spark, ReportPlan(source=source))[0]
    seconds = (datetime.fromisoformat(row["last"]) - datetime.fromisoformat(row["first"])).total_seconds()
    if seconds:
        assert row["messages_per_second"] == pytest.approx(5 / seconds, rel=0.01)
    times = [message.store_timestamp for message in place.all(first)]
    assert row["first"] == datetime.fromtimestamp(min(times) / 1000, UTC).isoformat(timespec="milliseconds")
