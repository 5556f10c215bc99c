"""What of a message goes on to its copy, on rows that are written down here."""

from typing import Any

import pytest
from mqframe_spark.jobs.copying import connection, copies, not_before
from pyspark.sql import functions as f

from mqframe import MessageQueue

MESSAGES = """
    select * from values
        ('t', 'a', 0, 4L, 'id-1', cast('one' as binary), 'paid', 'k1 k2', 7,
         map('UNIQ_KEY', 'u1', 'TAGS', 'paid', 'KEYS', 'k1 k2', 'mine', '1', 'CLUSTER', 'c',
             '__SHARDINGKEY', 'customer-7')),
        ('t', 'a', 1, 5L, 'id-2', cast('two' as binary), null, null, 0,
         map('IDEMPOTENCE_KEY', 'first-id', 'UNIQ_KEY', 'u2', 'yours', '2')),
        ('t', 'b', 0, 6L, 'id-3', cast('three' as binary), null, null, 0, map('WAIT', 'true'))
    as messages (topic, broker, queue_id, queue_offset, msg_id, body, tags, keys, flag, properties)
"""


@pytest.fixture(scope="module")
def messages(spark) -> Any:
    return spark.sql(MESSAGES)


def test_only_what_says_where_a_cluster_is_goes_from_the_source_to_the_sink() -> None:
    source = {
        "NameServer": "n:1",
        "accesskey": "a",
        "secretKey": "s",
        "tls": "true",
        "topic": "t",
        "tags": "x",
    }
    assert connection(source) == {"NameServer": "n:1", "accesskey": "a", "secretKey": "s", "tls": "true"}
    assert connection({}) == {}


def test_a_copy_keeps_what_its_sender_set_and_the_id_of_the_first(messages) -> None:
    made = copies(messages)
    assert made.columns == [
        "body", "tags", "keys", "flag", "properties", "sharding_key", "idempotence_key",
    ]  # fmt: skip
    assert [tuple(row) for row in made.collect()] == [
        (b"one", "paid", "k1 k2", 7, {"mine": "1"}, "customer-7", "id-1"),
        (b"two", None, None, 0, {"yours": "2"}, None, "first-id"),
        (b"three", None, None, 0, {}, None, "id-3"),
    ]


def test_columns_may_be_added_or_made_otherwise(messages) -> None:
    more = {"topic": f.lit("u"), "properties": f.create_map(f.lit("from"), f.col("topic"))}
    made = copies(messages, sharding_key="queue_id + 1", more=more)
    assert [(row.topic, row.properties, row.sharding_key) for row in made.collect()] == [
        ("u", {"from": "t"}, "1"), ("u", {"from": "t"}, "2"), ("u", {"from": "t"}, "1"),
    ]  # fmt: skip


def test_what_lies_before_an_offset_is_left_out_queue_by_queue(messages) -> None:
    def left(offsets: dict[tuple[str, int], int]) -> list[str]:
        table = {MessageQueue("t", broker, number): at for (broker, number), at in offsets.items()}
        return [row.msg_id for row in not_before(messages, table).collect()]

    assert left({("a", 0): 5, ("a", 1): 5, ("b", 1): 100}) == ["id-2", "id-3"]
    assert left({("a", 0): 4, ("b", 0): 7}) == ["id-1", "id-2"]
    assert not_before(messages, {}) is messages
