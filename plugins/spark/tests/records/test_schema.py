import pyarrow as pa
import pytest
from mqframe_spark.records.schema import ARROW_SCHEMA, check_schema, spark_schema
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from mqframe.core.errors import SettingError


def test_spark_and_arrow_mean_the_same_columns() -> None:
    found = to_arrow_schema(spark_schema(), timezone="UTC")
    assert found.names == ARROW_SCHEMA.names
    for name in found.names:
        assert found.field(name).type == ARROW_SCHEMA.field(name).type, name


def test_some_columns_in_an_order_of_their_own() -> None:
    assert spark_schema(["body", "topic"]) == t.StructType(
        [t.StructField("body", t.BinaryType()), t.StructField("topic", t.StringType())]
    )


def test_values_of_properties_are_never_null() -> None:
    kind = spark_schema(["properties"])["properties"].dataType
    assert kind == t.MapType(t.StringType(), t.StringType(), valueContainsNull=False)
    assert not ARROW_SCHEMA.field("properties").type.item_field.nullable
    assert pa.types.is_map(ARROW_SCHEMA.field("properties").type)


def test_another_schema_is_refused() -> None:
    check_schema(spark_schema())
    check_schema(spark_schema(["body"]), ["body"])
    with pytest.raises(SettingError, match=r"schema struct<body:binary> is not that of a topic"):
        check_schema(spark_schema(["body"]))
