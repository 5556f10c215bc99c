from datetime import UTC, datetime

import pytest
from mqframe_spark.columns import Columns
from mqframe_spark.schema import ARROW_SCHEMA, check_schema, spark_schema

from mqframe.core.errors import GiveUpError, SettingError


def test_arrow_and_spark_agree_on_the_columns() -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    assert to_arrow_schema(spark_schema(), timezone="UTC").equals(ARROW_SCHEMA)


def test_a_message_becomes_a_row(message) -> None:
    columns = Columns("a")
    columns.extend([message(7, topic="orders", queue_id=2, body=b"x" * 50, packed=True)])
    assert columns.rows == 1
    assert columns.size_bytes > 50
    batch = columns.take()
    assert batch.schema.equals(ARROW_SCHEMA)
    assert batch.to_pylist() == [
        {
            "topic": "orders",
            "broker": "a",
            "queue_id": 2,
            "queue_offset": 7,
            "msg_id": "7F00000100002A9F0000000000000000",
            "tags": "tag1",
            "keys": "k7 all",
            "properties": [("TAGS", "tag1"), ("KEYS", "k7 all"), ("n", "7")],
            "body": b"x" * 50,
            "born_timestamp": datetime(2023, 11, 14, 22, 13, 20, 7000, UTC),
            "store_timestamp": datetime(2023, 11, 14, 22, 13, 21, 7000, UTC),
        }
    ]
    assert (columns.rows, columns.size_bytes) == (0, 0)
    assert columns.take().num_rows == 0


def test_the_unique_key_is_the_id_and_of_two_the_last_counts(message) -> None:
    columns = Columns("a")
    columns.extend([message(0, properties=b"UNIQ_KEY\x01first\x02x\x01y\x02UNIQ_KEY\x01batch\x02")])
    (row,) = columns.take().to_pylist()
    assert row["msg_id"] == "batch"
    assert dict(row["properties"]) == {"UNIQ_KEY": "batch", "x": "y"}
    assert len(row["properties"]) == 2


def test_what_a_message_lacks_is_null(message) -> None:
    columns = Columns("a")
    columns.extend([message(0, properties=b"", body=b"")])
    (row,) = columns.take().to_pylist()
    assert (row["tags"], row["keys"], row["properties"], row["body"]) == (None, None, [], b"")


def test_a_damaged_body_is_an_error(message) -> None:
    with pytest.raises(GiveUpError, match="damaged"):
        Columns("a").extend([message(0, body=b"no zlib", sys_flag=0x301)])


def test_other_columns_are_refused() -> None:
    from pyspark.sql.types import StringType, StructType

    check_schema(spark_schema())
    with pytest.raises(SettingError, match=r"leave \.schema\(\.\.\.\) out"):
        check_schema(StructType().add("body", StringType()))
