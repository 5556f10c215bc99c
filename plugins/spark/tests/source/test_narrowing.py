"""What filters say of where messages are, and that Spark's rows are the same with and without it."""

from bisect import bisect_left
from collections import Counter
from datetime import UTC, datetime
from functools import reduce
from itertools import cycle, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_spark.source.narrowing import ALL, CLOCK_SLACK_MS, narrowing_of
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from mqframe import Message, Producer
from mqframe.core.filtering.tag_filter import TagFilter
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


Values = dict[str, Any]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "topic": st.sampled_from(["t", "u", "x"]),
    "broker": st.sampled_from(["a", "b", "c"]),
    "queue_id": st.integers(0, 2),
    "queue_offset": st.integers(-1, 13),
    "tags": st.sampled_from(["", "paid", "new", " paid", "a||b", "*"]),
    "store_timestamp": st.integers(0, 40).map(lambda half_minutes: at(half_minutes / 2)),
    "flag": st.integers(0, 2),
}
_ORDERED = (EqualTo, EqualNullSafe, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)
_TEXTS = (StringStartsWith, StringEndsWith, StringContains)


@st.composite
def one_filter(draw: st.DrawFn) -> Filter:
    """A filter as Spark hands it over: typed as its column is."""
    name = draw(st.sampled_from([*VALUES]))
    kinds = (
        ["ordered", "in", "null", "texts"]
        if name in ("topic", "broker", "tags")
        else ["ordered", "in", "null"]
    )
    kind = draw(st.sampled_from(kinds))
    if kind == "in":
        made: Filter = In((name,), tuple(draw(st.lists(st.none() | VALUES[name], min_size=1, max_size=3))))
    elif kind == "null":
        made = draw(st.sampled_from([IsNull, IsNotNull]))((name,))
    else:
        classes = _ORDERED if kind == "ordered" else _TEXTS
        made = draw(st.sampled_from(classes))((name,), draw(VALUES[name]))
    return Not(made) if draw(st.booleans()) else made


def lets_through(found: Any, row: Values) -> bool | None:
    """What Spark makes of a filter; `None` is SQL's null."""
    if isinstance(found, Not):
        inner = lets_through(found.child, row)
        return None if inner is None else not inner
    value = row[found.attribute[0]]
    if isinstance(found, IsNull | IsNotNull):
        return (value is None) == isinstance(found, IsNull)
    if isinstance(found, EqualNullSafe):
        return bool(value == found.value)
    if value is None:
        return None
    if isinstance(found, In):
        return True if value in found.value else (None if None in found.value else False)
    given = found.value
    results = {
        EqualTo: lambda: value == given,
        GreaterThan: lambda: value > given,
        GreaterThanOrEqual: lambda: value >= given,
        LessThan: lambda: value < given,
        LessThanOrEqual: lambda: value <= given,
        StringStartsWith: lambda: value.startswith(given),
        StringEndsWith: lambda: value.endswith(given),
        StringContains: lambda: given in value,
    }
    return bool(results[type(found)]())


@st.composite
def queues_of_rows(draw: st.DrawFn) -> dict[MessageQueue, list[Values]]:
    """Messages by offset, stored over some minutes by a clock that was set back by less than a minute."""
    made = {}
    for queue in QUEUES:
        minutes = sorted(draw(st.lists(st.integers(0, 20), max_size=5)))
        back = draw(st.lists(st.integers(0, CLOCK_SLACK_MS // 1000 - 1), min_size=5, max_size=5))
        made[queue] = [
            {
                "topic": queue.topic,
                "broker": queue.broker_name,
                "queue_id": queue.queue_id,
                "queue_offset": offset,
                "tags": draw(st.none() | VALUES["tags"]) or None,
                "store_timestamp": at(minute + 1 - back[offset] / 60),
                "flag": draw(VALUES["flag"]),
            }
            for offset, minute in enumerate(minutes)
        ]
    return made


@given(st.lists(one_filter(), max_size=4), queues_of_rows())
def test_nothing_is_left_out_that_the_filters_let_through(
    filters: list[Filter], rows: dict[MessageQueue, list[Values]]
) -> None:
    narrowing = narrowing_of(filters)
    wanted_tags = TagFilter(narrowing.tags()).tags

    def at_time(queue: MessageQueue, ms: int) -> int:
        return bisect_left([row["store_timestamp"].timestamp() * 1000 for row in rows[queue]], ms)

    for queue, stored in rows.items():
        low, high = narrowing.within(queue, 0, len(stored), at_time)
        assert 0 <= low <= high <= len(stored)
        read = [row for row in stored[low:high] if not wanted_tags or row["tags"] in wanted_tags]
        for row in stored:
            if all(lets_through(each, row) for each in filters):
                assert row in read


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


def on_each_column(row: Any) -> list[str]:
    """Filters on every column of a topic, one after the other, with the values that one of its rows has."""
    values = {
        "topic": f"'{row.topic}'", "broker": f"'{row.broker}'", "queue_id": row.queue_id,
        "queue_offset": row.queue_offset, "commitlog_offset": row.commitlog_offset,
        "msg_id": f"'{row.msg_id}'", "unique_key": f"'{row.unique_key}'", "tags": f"'{row.tags}'",
        "keys": f"'{row['keys']}'", "body": f"X'{bytes(row.body).hex()}'", "flag": row.flag,
        "sys_flag": row.sys_flag, "born_host": f"'{row.born_host}'", "store_host": f"'{row.store_host}'",
        "reconsume_times": row.reconsume_times, "properties['number']": f"'{row.properties['number']}'",
        "born_timestamp": f"timestamp_millis({round(row.born_timestamp.timestamp() * 1000)})",
        "store_timestamp": f"timestamp_millis({round(row.store_timestamp.timestamp() * 1000)})",
    }  # fmt: skip
    assert {name.partition("[")[0] for name in values} == set(row.__fields__)
    forms = cycle(("{} = {}", "{} <= {}", "{} IN ({}, NULL)", "{} >= {}", "{} <=> {}"))
    return [form.format(name, value) for form, (name, value) in zip(forms, values.items(), strict=False)]


def test_filters_on_any_column_give_what_spark_finds_in_all_rows(
    spark: Any, mqframe_shared_cluster: Any
) -> None:
    mqframe_shared_cluster.create_topic("filtered-all", 3)
    with Producer(group="p", nameserver=mqframe_shared_cluster.nameserver) as producer:
        for number in range(24):
            message = Message(
                "filtered-all", b"%d" % number, tag=f"tag{number % 4}" if number % 4 < 3 else "",
                keys=[f"k{number}"], properties={"number": str(number)}, flag=number % 2,
            )  # fmt: skip
            producer.send(message)
    given = {"nameserver": mqframe_shared_cluster.nameserver, "topic": "filtered-all"}
    everything = spark.read.format("mqframe").options(**given).load().cache()
    stored = everything.orderBy("commitlog_offset").collect()
    assert [int(row.body) for row in stored] == [*range(24)]
    alone = on_each_column(stored[9])
    cases = [f"{one} AND {other}" for one, other in zip(alone[::2], alone[1::2], strict=True)]
    cases += [f"({one} OR {other}) AND queue_offset < 6" for one, other in pairwise(alone[::4])]
    cases += [f"NOT ({case})" for case in alone[2::5]]
    cases += ["tags IS NULL AND flag = 1", "keys LIKE 'k1%' AND topic LIKE '%all'", "size(properties) > 99"]

    def numbers(frames: list[Any]) -> Counter[tuple[str, int, int]]:
        named = [
            frame.selectExpr(f"{number} AS case", "queue_id", "queue_offset")
            for number, frame in enumerate(frames)
        ]
        found = reduce(lambda left, right: left.union(right), named).collect()
        return Counter((cases[row.case], row.queue_id, row.queue_offset) for row in found)

    expected = numbers([everything.where(case) for case in cases])
    assert len({case for case, _, _ in expected}) > len(cases) // 2
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        pushing = spark.read.format("mqframe").options(**given, pushFilters="true")
        assert numbers([pushing.load().where(case) for case in cases]) == expected
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
        everything.unpersist()
