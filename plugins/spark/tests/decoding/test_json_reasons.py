"""Why a body is not what its schema says, by a real Spark."""

import json

from mqframe_spark.decoding.json_reasons import json_reason
from pyspark.sql import functions as f
from pyspark.sql import types as t

SCHEMA = "id long, `a.b` int, lines array<int>, to struct<zip: int, at: struct<day: date>>"
LONG = "x" * 101
REASONS = [
    ("no json", "no JSON: no json"),
    (LONG, f"no JSON: {LONG[:100]}…"),
    ('"text"', 'no JSON object: "text"'),
    ("[1]", "no JSON object: [1]"),
    (json.dumps({"id": "x", "lines": ["y"]}), "field id is no bigint: x"),
    (json.dumps({"id": LONG}), f"field id is no bigint: {LONG[:100]}…"),
    (json.dumps({"a.b": {"c": 1}}), 'field a.b is no int: {"c":1}'),
    (json.dumps({"id": 1, "lines": [1, "y"]}), 'field lines is no array<int>: [1,"y"]'),
    (json.dumps({"to": 7}), "field to is no struct<zip:int,at:struct<day:date>>: 7"),
    (json.dumps({"to": {"zip": "z"}}), "field to.zip is no int: z"),
    (json.dumps({"to": {"zip": 1, "at": {"day": "later"}}}), "field to.at.day is no date: later"),
    (json.dumps({"id": 1, "to": None}), 'not as the schema says: {"id": 1, "to": null}'),
]


def test_the_reason_names_the_first_bad_field_with_its_value(spark) -> None:
    kind = t.StructType.fromDDL(SCHEMA)
    texts = spark.createDataFrame(list(enumerate(text for text, _ in REASONS)), "number int, text string")
    parsed = f.from_json("text", kind)
    told = texts.select("number", json_reason(f.col("text"), parsed, kind).alias("why")).orderBy("number")
    assert [row["why"] for row in told.collect()] == [why for _, why in REASONS]
