"""What filters say of where messages are, and that Spark's rows are the same with and without it."""

from datetime import UTC, datetime

import pytest
from mqframe_spark.source.narrowing import ALL, CLOCK_SLACK_MS, narrowing_of
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from mqframe import Message, Producer
from mqframe.core.messages.message import MessageQueue

QUEUES = [MessageQueue(topic, broker, number) for topic in "tu" for broker in "ab" for number in range(2)]


def wanted(*filters: Filter) -> str:
    narrowing = narrowing_of(filters)
    return " ".join(f"{q.topic}{q.broker_name}{q.queue_id}" for q in QUEUES if narrowing.wants(q))


def within(*filters: Filter, start: int = 10, end: int = 20) -> tuple[int, int]:
    return narrowing_of(filters).within(QUEUES[0], start, end, lambda queue, ms: ms // 60_000)


def at(minutes: float) -> datetime:
    return datetime.fromtimestamp(minutes * 60, UTC)


def test_filters_of_queues_choose_queues() -> None:
    assert wanted() == "ta0 ta1 tb0 tb1 ua0 ua1 ub0 ub1"
    assert wanted(EqualTo(("topic",), "t"), EqualTo(("queue_id",), 1)) == "ta1 tb1"
    assert wanted(In(("broker",), ("b", "c", None)), EqualNullSafe(("topic",), "u")) == "ub0 ub1"
    assert wanted(In(("topic",), ("t", "u")), In(("topic",), ("u", "v"))) == "ua0 ua1 ub0 ub1"
    assert wanted(EqualTo(("topic",), "x")) == ""


@pytest.mark.parametrize(
    "found",
    [
        Not(EqualTo(("topic",), "t")),
        StringStartsWith(("topic",), "t"),
        IsNotNull(("topic",)),
        EqualTo(("queue_id",), "1"),
        EqualTo(("properties", "topic"), "t"),
        EqualTo(("body",), b"t"),
        GreaterThan(("queue_id",), 0),
        GreaterThan(("store_timestamp",), datetime(2026, 1, 1)),
        Not(GreaterThan(("queue_offset",), 12)),
    ],
)
def test_what_is_not_understood_says_nothing(found: Filter) -> None:
    assert narrowing_of([found]) == ALL
    assert within(found) == (10, 20)


def test_offsets_are_narrowed_to_what_may_be_let_through() -> None:
    offset = ("queue_offset",)
    assert within(GreaterThanOrEqual(offset, 12)) == (12, 20)
    assert within(LessThanOrEqual(offset, 12)) == (10, 13)
    assert within(LessThan(offset, 15), GreaterThanOrEqual(offset, 12), LessThan(offset, 99)) == (12, 16)
    assert within(EqualTo(offset, 12)) == (12, 13)
    assert within(In(offset, (14, 12))) == (12, 15)
    assert within(GreaterThan(offset, 20)) == within(LessThan(offset, 5)) == (10, 10)
    assert within(EqualTo(("topic",), "u")) == (10, 10)


def test_times_are_narrowed_with_room_for_clocks_that_were_set_back() -> None:
    time = ("store_timestamp",)
    slack = CLOCK_SLACK_MS // 60_000
    assert within(GreaterThanOrEqual(time, at(15))) == (15 - slack, 20)
    assert within(LessThan(time, at(15))) == (10, 15 + slack)
    assert within(EqualTo(time, at(15))) == (15 - slack, 15 + slack)
    assert within(GreaterThan(time, at(50))) == (10, 10)


@pytest.mark.parametrize(
    ("found", "tags"),
    [
        (EqualTo(("tags",), "paid"), "paid"),
        (In(("tags",), ("paid", "new", None)), "new || paid"),
        (EqualTo(("tags",), ""), "*"),
        (EqualTo(("tags",), " paid"), "*"),
        (In(("tags",), ("paid", "a||b")), "*"),
        (EqualTo(("tags",), "*"), "*"),
        (EqualNullSafe(("tags",), None), "*"),
    ],
)
def test_tags_become_an_expression_where_they_can(found: Filter, tags: str) -> None:
    assert narrowing_of([found]).tags() == tags


CASES = [
    "queue_id = 1",
    "queue_id IN (0, 2) AND queue_offset BETWEEN 3 AND 5",
    "queue_offset > 7 OR queue_offset < 2",
    "queue_offset = 4 AND topic = 'narrowed' AND broker = 'broker-a'",
    "topic = 'other'",
    "tags = 'tag1'",
    "tags IN ('tag0', 'tag2') AND queue_offset >= 4",
    "tags IS NULL",
    "tags <=> 'tag1' AND queue_id <> 0",
    "store_timestamp >= '2000-01-01' AND queue_id < 2",
    "store_timestamp < '2000-01-01'",
]


def test_rows_are_the_same_with_and_without(spark, mqframe_shared_cluster) -> None:
    mqframe_shared_cluster.create_topic("narrowed", 3)
    with Producer(group="p", nameserver=mqframe_shared_cluster.nameserver) as producer:
        for number in range(30):
            tag = f"tag{number % 4}" if number % 4 < 3 else ""
            producer.send(Message("narrowed", b"%d" % number, tag=tag))
    given = {"nameserver": mqframe_shared_cluster.nameserver, "topic": "narrowed"}

    def rows(where: str, **more: str) -> list[tuple[int, int, bytes]]:
        frame = spark.read.format("mqframe").options(**given, **more).load().where(where)
        found = frame.select("queue_id", "queue_offset", "body").collect()
        return sorted((row.queue_id, row.queue_offset, bytes(row.body)) for row in found)

    expected = {where: rows(where) for where in CASES}
    assert [bool(expected[where]) for where in CASES] == [
        where not in (CASES[4], CASES[10]) for where in CASES
    ]
    # Asked for while Spark's setting is off: nothing is narrowed, and nothing is refused.
    assert rows(CASES[0], pushFilters="true") == expected[CASES[0]]
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        assert {where: rows(where, pushFilters="true") for where in CASES} == expected
        frame = spark.read.format("mqframe").options(**given, pushFilters="true").load()
        assert frame.where("queue_id = 1").rdd.getNumPartitions() == 1
        plain = spark.read.format("mqframe").options(**given).load()
        twice = plain.where("queue_id = 1").union(plain.where("queue_id = 2"))
        assert twice.count() == len(rows("queue_id IN (1, 2)"))
        assert plain.where("queue_id = 1").rdd.getNumPartitions() == 3
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
