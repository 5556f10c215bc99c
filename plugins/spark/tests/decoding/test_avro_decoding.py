"""Avro bodies to Arrow, without Spark."""

import datetime
import decimal
import io
import json
import pickle
import uuid

import pyarrow as pa
import pytest

from mqframe.core.errors import SettingError

fastavro = pytest.importorskip("fastavro")

from mqframe_spark.decoding.avro_decoding import AvroDecoder, AvroError  # noqa: E402 - needs fastavro

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "cents", "type": ["null", "int"], "default": None}],
}


def encoded(schema, value) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def decoded(decoder: AvroDecoder, *bodies: bytes | None) -> list:
    made = decoder.decode(pa.array(bodies, pa.binary()))
    assert made.type == decoder.type.arrow
    return made.to_pylist()


def test_records_nulls_and_bad_bodies() -> None:
    decoder = pickle.loads(pickle.dumps(AvroDecoder(json.dumps(ORDER))))
    good = encoded(ORDER, {"id": 7, "cents": 250})
    bare = encoded(ORDER, {"id": -1, "cents": None})
    assert decoder.type.spark == "struct<`id`: bigint, `cents`: int>"
    values = decoded(decoder, good, None, bare, b"", good[:-1], good + b"x", b"\xff" * 30)
    assert values == [{"id": 7, "cents": 250}, None, {"id": -1, "cents": None}, None, None, None, None]


@pytest.mark.parametrize("body", [b"", b"\x0e", b"\x0e\x00\x00", b"\xff" * 30, b"\x0e\x08\x02"])
def test_bad_bodies_may_fail(body) -> None:
    with pytest.raises(AvroError, match=f"a body of {len(body)} bytes"):
        decoded(AvroDecoder(ORDER, on_error="fail"), body)


KINDS = [
    ("boolean", True, "boolean", True),
    ("int", -5, "int", -5),
    ("float", 0.5, "float", 0.5),
    ("double", 0.1, "double", 0.1),
    ("bytes", b"\x00\xff", "binary", b"\x00\xff"),
    ({"type": "fixed", "name": "f", "size": 2}, b"ab", "binary", b"ab"),
    ("string", "zäh", "string", "zäh"),
    ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, "B", "string", "B"),
    ({"type": "array", "items": "int"}, [1, 2], "array<int>", [1, 2]),
    ({"type": "map", "values": "long"}, {"a": 1}, "map<string, bigint>", [("a", 1)]),
    (["null", "string"], "x", "string", "x"),
    (["int", "long"], 1 << 40, "bigint", 1 << 40),
    (["float", "double", "null"], 0.5, "double", 0.5),
    (
        {"type": "int", "logicalType": "date"},
        datetime.date(2026, 11, 21),
        "date",
        datetime.date(2026, 11, 21),
    ),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        decimal.Decimal("12.34"),
        "decimal(9,2)",
        decimal.Decimal("12.34"),
    ),
    ({"type": "string", "logicalType": "uuid"}, uuid.UUID(int=5), "string", str(uuid.UUID(int=5))),
    (
        {"type": "long", "logicalType": "local-timestamp-micros"},
        datetime.datetime(2026, 1, 2, 3, 4, 5, 6),
        "timestamp_ntz",
        datetime.datetime(2026, 1, 2, 3, 4, 5, 6),
    ),
    ({"type": "int", "logicalType": "no such thing"}, 3, "int", 3),
]


@pytest.mark.parametrize(("schema", "value", "spark", "wanted"), KINDS, ids=[each[2] for each in KINDS])
def test_every_type(schema, value, spark, wanted) -> None:
    whole = {"type": "record", "name": "r", "fields": [{"name": "a", "type": schema}]}
    decoder = AvroDecoder(whole)
    assert decoder.type.spark == f"struct<`a`: {spark}>"
    assert decoded(decoder, encoded(whole, {"a": value})) == [{"a": wanted}]


@pytest.mark.parametrize("unit", ["millis", "micros"])
def test_times_are_in_utc(unit) -> None:
    schema = {"type": "long", "logicalType": f"timestamp-{unit}"}
    stamp = datetime.datetime(2026, 1, 2, 3, 4, 5, 6000, datetime.UTC)
    assert decoded(AvroDecoder(schema), encoded(schema, stamp)) == [stamp]


def test_a_named_type_may_be_used_again() -> None:
    point = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}
    line = {
        "type": "record",
        "name": "Line",
        "fields": [{"name": "a", "type": point}, {"name": "b", "type": "Point"}],
    }
    value = {"a": {"x": 1}, "b": {"x": 2}}
    assert decoded(AvroDecoder(line), encoded(line, value)) == [value]


def test_a_number_beyond_its_type_is_a_bad_body() -> None:
    large = encoded("long", 1 << 40)
    assert decoded(AvroDecoder('"int"'), large, encoded("int", 5)) == [None, 5]
    with pytest.raises(AvroError, match="does not fit int"):
        decoded(AvroDecoder('"int"', on_error="fail"), large)


def test_single_objects_carry_the_mark_of_their_schema() -> None:
    # The example of the specification's algorithm: the fingerprint of "null".
    assert decoded(
        AvroDecoder('"null"', "single_object", on_error="fail"), bytes.fromhex("c3018a8f25cce724dd63")
    )
    decoder = AvroDecoder(ORDER, "single_object")
    begin = decoder._begin
    assert len(begin) == 10
    value = {"id": 7, "cents": 250}
    body = encoded(ORDER, value)
    assert decoded(decoder, begin + body, body, begin[:5], b"\xc3\x01" + bytes(8) + body) == [
        value, None, None, None,
    ]  # fmt: skip


def test_ids_of_schemas_in_front() -> None:
    older = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
    value = {"id": 7, "cents": 250}
    new, old = encoded(ORDER, value), encoded(older, {"id": 8})
    one = AvroDecoder(ORDER, "confluent")
    assert decoded(one, b"\0\0\0\0\x05" + new, b"\0\0\0\1\0" + new, new, b"\0\0", b"\1\0\0\0\5" + new) == [
        value, value, None, None, None,
    ]  # fmt: skip
    several = AvroDecoder(ORDER, "confluent", {5: ORDER, 4: older})
    assert decoded(several, b"\0\0\0\0\5" + new, b"\0\0\0\0\4" + old, b"\0\0\0\0\3" + old) == [
        value, {"id": 8, "cents": None}, None,
    ]  # fmt: skip
    several.on_error = "fail"
    with pytest.raises(AvroError, match=r"schema id 3 is not among those given: \[4, 5\]"):
        decoded(several, b"\0\0\0\0\3" + old)


@pytest.mark.parametrize(
    "schema", ["{", '{"type": "nonsense"}', '{"type": "record"}', "7", {"type": []}, None]
)
def test_what_is_no_schema_is_refused(schema) -> None:
    with pytest.raises(SettingError, match="is no Avro schema"):
        AvroDecoder(schema)
