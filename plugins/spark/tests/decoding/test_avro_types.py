"""Which columns stand for Avro schemas, and what has none."""

import pyarrow as pa
import pytest

from mqframe.core.errors import SettingError

pytest.importorskip("fastavro")

from mqframe_spark.decoding.avro_decoding import parse
from mqframe_spark.decoding.avro_types import ColumnType, column_type


@pytest.mark.parametrize(
    ("schema", "arrow", "spark"),
    [
        ('"long"', pa.int64(), "bigint"),
        (["null", "string"], pa.string(), "string"),
        ({"type": "int", "logicalType": "date"}, pa.date32(), "date"),
        ({"type": "long", "logicalType": "timestamp-millis"}, pa.timestamp("us", tz="UTC"), "timestamp"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, pa.string(), "string"),
    ],
)
def test_columns(schema, arrow, spark) -> None:
    assert column_type(parse(schema)) == ColumnType(arrow, spark)


TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [{"name": "left", "type": ["null", "Tree"]}, {"name": "n", "type": "int"}],
}


@pytest.mark.parametrize(
    ("schema", "match"),
    [
        (TREE, "field left: Tree is a record within itself"),
        (["int", "string"], "a union of different types"),
        ({"type": "int", "logicalType": "time-millis"}, "no column for time-millis"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 40}, "a decimal of 40 digits"),
        ({"type": "record", "name": "r", "fields": []}, "a record without fields"),
    ],
)
def test_what_has_no_column_is_refused(schema, match) -> None:
    with pytest.raises(SettingError, match=match):
        column_type(parse(schema))
