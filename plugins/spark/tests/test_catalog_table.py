"""Topics as tables of the catalog, in a real Spark."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from mqframe_spark.catalog_table import is_table, options_for, own_options, plain, with_options
from mqframe_spark.records.schema import spark_schema

from mqframe import Message, Producer
from mqframe.core.errors import SettingError

HANDED = {
    "option.nameserver": "n:1", "nameserver": "n:1", "option.topic": "t", "topic": "t", "provider": "mqframe",
    "owner": "me", "comment": "hi", "location": "/x", "colour": "red",
}  # fmt: skip
"""What Spark 4.3 hands over for a table with a comment, a location and a property."""


@pytest.fixture(scope="module")
def topic(mqframe_shared_cluster) -> tuple[str, Counter[bytes]]:
    """Name servers, and what the topic holds."""
    mqframe_shared_cluster.create_topic("in-catalog", 2)
    with Producer(group="p", nameserver=mqframe_shared_cluster.nameserver) as producer:
        for number in range(20):
            producer.send(Message("in-catalog", b"%d" % number, tag=f"tag{number % 2}"))
    return mqframe_shared_cluster.nameserver, Counter(b"%d" % number for number in range(20))


@pytest.fixture
def table(spark, topic) -> Iterator[Any]:
    """Makes the table `catalogued` with more options and clauses behind them."""

    def make(options: str = "", clauses: str = "", columns: str = "") -> None:
        spark.sql(
            f"CREATE TABLE catalogued {columns} USING mqframe "
            f"OPTIONS (nameserver '{topic[0]}', topic 'in-catalog' {options}) {clauses}"
        )

    yield make
    spark.sql("DROP TABLE IF EXISTS catalogued")


def test_what_spark_adds_is_told_from_what_the_maker_of_a_table_wrote() -> None:
    assert is_table(HANDED)
    assert not is_table({"nameserver": "n:1", "topic": "t"})
    assert own_options(HANDED) == {"nameserver": "n:1", "topic": "t"}


def test_options_stand_in_the_schema_and_nowhere_else() -> None:
    schema = with_options(spark_schema(("body", "topic")), {"topic": "t", "tags": "a"})
    assert options_for({}, schema) == {"topic": "t", "tags": "a"}
    assert options_for({"TAGS": "b"}, schema) == {"topic": "t", "TAGS": "b"}
    assert plain(schema) == spark_schema(("body", "topic")) != schema
    assert options_for({"topic": "u"}, spark_schema()) == {"topic": "u"}


def test_secrets_do_not_go_into_the_catalog() -> None:
    with pytest.raises(SettingError, match="option secretKey: the options of a table are shown") as caught:
        own_options({**HANDED, "secretKey": "hidden", "option.secretkey": "hidden"})
    assert "hidden" not in str(caught.value)


def test_a_table_is_read_whole(spark, topic, table) -> None:
    table()
    rows = spark.sql("SELECT body, tags, topic FROM catalogued").collect()
    assert Counter(bytes(row.body) for row in rows) == topic[1]
    assert {row.topic for row in rows} == {"in-catalog"}
    counted = spark.sql("SELECT tags, count(*) AS n FROM catalogued GROUP BY tags ORDER BY tags").collect()
    assert [tuple(row) for row in counted] == [("tag0", 10), ("tag1", 10)]


def test_options_and_what_stands_behind_them_are_heeded(spark, topic, table, tmp_path) -> None:
    table(
        ", tags 'tag1', columns 'queue_offset,body'",
        f"LOCATION '{tmp_path}' COMMENT 'orders' TBLPROPERTIES ('colour' = 'red')",
    )
    frame = spark.table("catalogued")
    assert frame.columns == ["queue_offset", "body"]
    assert Counter(bytes(row.body) for row in frame.collect()) == Counter(
        {body: 1 for body in topic[1] if int(body) % 2}
    )
    # An option of one query counts before the table's.
    others = spark.sql("SELECT body FROM catalogued WITH ('tags' = 'tag0')").collect()
    assert {int(row.body) % 2 for row in others} == {0}


def test_a_table_is_read_as_a_stream(spark, topic, table, tmp_path) -> None:
    table()
    query = (
        spark.readStream.table("catalogued")
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert query.exception() is None
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert Counter(bytes(row.body) for row in rows) == topic[1]


def test_bad_options_are_refused_when_the_table_is_made(spark, table) -> None:
    with pytest.raises(Exception, match=r"unknown option topik = 'x'; did you mean topic or topics\?"):
        table(", topik 'x'")
    assert not spark.catalog.tableExists("catalogued")


def test_a_table_with_columns_of_its_own_cannot_be_read(spark, table) -> None:
    table(columns="(body BINARY)")
    with pytest.raises(Exception, match="make it without them, CREATE TABLE name USING mqframe OPTIONS"):
        spark.table("catalogued").collect()
