"""Messages that are found, and values as JSON has them."""

import json
import os
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from mqframe_spark.jobs.searching import Search, plain_value, search
from pyspark.sql import Row

from mqframe.core.errors import FixError, SettingError


@pytest.fixture
def elsewhere():
    """A machine whose time is not UTC: Spark hands times over in the machine's zone."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def test_all_of_sparks_values_can_be_written(elsewhere) -> None:
    moment = datetime.fromtimestamp(datetime(2026, 11, 21, 10, tzinfo=UTC).timestamp())
    row = Row(
        text="x", n=3, ratio=0.5, nothing=None, raw=bytearray(b"a\xff"), at=moment, day=date(2026, 11, 21),
        price=Decimal("1.50"), tags=["a", b"b"], table={"k": moment}, inner=Row(a=1, b=b"c"),
    )  # fmt: skip
    assert plain_value(row) == {
        "text": "x",
        "n": 3,
        "ratio": 0.5,
        "nothing": None,
        "raw": "a\\xff",
        "at": "2026-11-21T10:00:00.000+00:00",
        "day": "2026-11-21",
        "price": "1.50",
        "tags": ["a", "b"],
        "table": {"k": "2026-11-21T10:00:00.000+00:00"},
        "inner": {"a": 1, "b": "c"},
    }


def test_an_empty_condition_is_refused() -> None:
    with pytest.raises(SettingError, match="--sql is empty"):
        search(None, Search(source={}, sql="  "))


def test_a_search_finds_messages_in_a_stores_files(spark, place) -> None:
    topic = place.topic()
    place.send(topic, range(20))
    path = str(place.cluster.directory / "broker-a")
    source = {"mode": "files", "path": path, "topic": topic}

    def found(sql: str, **change: Any) -> Any:
        return search(spark, Search(**{"source": source, "sql": sql, **change}))

    hits = found("text like '1%' and properties['customer'] = 'c11'")
    assert sorted(row["text"] for row in hits.rows) == ["1", "11"]
    row = next(row for row in hits.rows if row["text"] == "11")
    [message] = [each for each in place.all(topic) if each.body == b"11"]
    assert {name: row[name] for name in ("topic", "queue_id", "queue_offset", "msg_id", "tags", "keys")} == {
        "topic": topic, "queue_id": 1, "queue_offset": 5, "msg_id": message.message_id, "tags": "tag2",
        "keys": "all k11",
    }  # fmt: skip
    assert row["properties"] == message.properties
    json.dumps(hits.rows)
    assert (len(found("true", limit=7).rows), found("true", limit=7).more) == (7, True)
    assert (len(found("true", limit=20).rows), found("true", limit=20).more) == (20, False)
    query = (
        "select tags, count(*) as n, max(cast(text as int)) as top from messages group by tags order by tags"
    )
    assert found(query).rows == [
        {"tags": "tag0", "n": 7, "top": 18},
        {"tags": "tag1", "n": 7, "top": 19},
        {"tags": "tag2", "n": 6, "top": 17},
    ]
    assert found("with m as (select * from messages where text = '3') select text from m").rows == [
        {"text": "3"}
    ]
    assert not any(table.name == "messages" for table in spark.catalog.listTables())
    for sql, said in (
        ("colour = 1", "`colour` cannot be resolved"),
        ("text = = 1", "Syntax error at or near '='"),
        ("select * from elsewhere", "`elsewhere` cannot be found"),
        ("drop table messages", "Syntax error"),
    ):
        with pytest.raises(FixError) as problem:
            found(sql)
        assert str(problem.value).startswith(f"--sql {sql!r}: ")
        assert said in str(problem.value)
        assert "\n" not in str(problem.value)


def test_a_search_through_brokers_heeds_times(spark, place) -> None:
    topic = place.topic()
    place.send(topic, range(3))
    time.sleep(0.01)
    middle = round(time.time() * 1000)
    place.send(topic, range(3, 5))
    source = {**place.source, "topic": topic, "startingTimestamp": str(middle)}
    rows = search(spark, Search(source=source, sql="select text from messages order by text")).rows
    assert rows == [{"text": "3"}, {"text": "4"}]
