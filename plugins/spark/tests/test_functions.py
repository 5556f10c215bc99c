"""Bodies as columns, by a real Spark."""

import io
import sys

import pytest
from mqframe_spark.functions import avro_body, json_body, own_properties
from mqframe_spark.records.schema import spark_schema
from pyspark.sql import types as t

from mqframe.core.errors import SettingError

ORDER = (
    '{"type": "record", "name": "Order", "fields": ['
    '{"name": "id", "type": "long"}, {"name": "paid", "type": ["null", "boolean"]},'
    '{"name": "lines", "type": {"type": "map", "values": "int"}}]}'
)


@pytest.fixture(scope="module")
def frame(spark):
    """Makes a DataFrame with the columns queue_offset and body."""

    def make(*bodies: bytes | None):
        rows = [(offset, None if body is None else bytearray(body)) for offset, body in enumerate(bodies)]
        return spark.createDataFrame(rows, spark_schema(("queue_offset", "body")))

    return make


def test_json(frame) -> None:
    orders = frame(
        b'{"id": 1, "cents": 250}', None, b"", b"no json", b'{"id": "x", "cents": 3}', b'{"id": 6}', b"[]"
    )
    chosen = orders.select(json_body("id long, cents long").alias("order"), "queue_offset")
    assert chosen.schema.simpleString() == "struct<order:struct<id:bigint,cents:bigint>,queue_offset:bigint>"
    found = {row["queue_offset"]: row["order"] for row in chosen.collect()}
    assert found.pop(0).asDict() == {"id": 1, "cents": 250}
    assert found.pop(5).asDict() == {"id": 6, "cents": None}
    assert found.pop(4).asDict() == {"id": None, "cents": 3}, "the other fields stay"
    assert [found.pop(offset) for offset in (1, 2)] == [None, None]
    assert {tuple(row) for row in found.values()} == {(None, None)}
    nulls = orders.select(json_body("id long, cents long", mode="null").alias("order"), "queue_offset")
    assert nulls.schema == chosen.schema
    assert {row["queue_offset"] for row in nulls.where("order is not null").collect()} == {0, 5}
    assert [row["id"] for row in chosen.select("order.id").where("id > 1").collect()] == [6]
    # A type instead of text, options of Spark, another column, lists.
    kind = t.StructType([t.StructField("day", t.DateType())])
    days = frame(b'{"day": "21.11.2026"}').withColumnRenamed("body", "text")
    [row] = days.select(
        json_body(kind, days["text"], options={"dateFormat": "dd.MM.yyyy"}).alias("o")
    ).collect()
    assert str(row["o"]["day"]) == "2026-11-21"
    lists = frame(b"[1, 2]", b"{").select(json_body("array<int>").alias("o")).collect()
    assert [row["o"] for row in lists] == [[1, 2], None]


def test_strict_json_fails_with_the_field_its_value_and_the_place(frame) -> None:
    orders = frame(b'{"id": 1, "to": {"zip": 2}}', b'{"id": 2, "to": {"zip": "x7"}}', b"no json", None)
    strict = json_body("id long, to struct<zip: int>", mode="strict", place=["queue_offset"]).alias("o")
    good = orders.where("queue_offset in (0, 3)").select(strict).collect()
    assert [row["o"] and row["o"].asDict(recursive=True) for row in good] == [
        {"id": 1, "to": {"zip": 2}},
        None,
    ]
    with pytest.raises(Exception, match=r"json_body: queue_offset = 1, field to.zip is no int: x7"):
        orders.limit(2).select(strict).collect()
    with pytest.raises(Exception, match=r"json_body: queue_offset = 2, no JSON: no json"):
        orders.where("queue_offset = 2").select(strict).collect()
    lists = json_body("array<int>", mode="strict")
    with pytest.raises(Exception, match=r"MALFORMED_RECORD_IN_PARSING|Malformed"):
        frame(b'[1, "x"]').select(lists).collect()


def test_json_may_say_why_a_body_is_bad(frame) -> None:
    bodies = [b'{"id": 1}', b'{"id": "x", "cents": 3}', b"no json", None, b"[]", b" "]
    whys = [
        None,
        "field id is no bigint: x",
        "no JSON: no json",
        "absent",
        "no JSON object: []",
        "no JSON:  ",
    ]
    orders = frame(*bodies)
    for mode, kept in (("permissive", (None, 3)), ("null", (None, None))):
        told = json_body("id long, cents long", mode=mode, reason="why").alias("o")
        found = [row["o"] for row in orders.select("queue_offset", told).orderBy("queue_offset").collect()]
        assert [row["why"] if row else "absent" for row in found] == whys
        assert (found[0]["id"], found[0]["cents"]) == (1, None)
        assert (found[1]["id"], found[1]["cents"]) == kept
    # Spark's own field with the whole text, beside the reason or alone.
    whole = "id long, _corrupt_record string"
    for options in ({}, {"reason": "why"}):
        row = orders.where("queue_offset = 1").select(json_body(whole, **options).alias("o")).first()
        assert row["o"]["_corrupt_record"] == bodies[1].decode()
    named = json_body("id long, bad string", reason="why", options={"columnNameOfCorruptRecord": "bad"})
    row = orders.where("queue_offset = 2").select(named.alias("o")).first()
    assert (row["o"]["bad"], row["o"]["why"]) == ("no json", "no JSON: no json")


def test_json_schemas_and_options_are_checked(spark) -> None:
    with pytest.raises(SettingError, match="schema = 'id nonsense'"):
        json_body("id nonsense")
    with pytest.raises(SettingError, match="mode = 'skip': must be one of permissive, null, strict"):
        json_body("id long", mode="skip")
    with pytest.raises(SettingError, match="option MODE is what the argument mode stands for"):
        json_body("id long", options={"MODE": "FAILFAST"})
    with pytest.raises(SettingError, match="reason = 'id': the schema has a field of this name"):
        json_body("id long", reason="id")
    with pytest.raises(SettingError, match="reason = 'why': array<int> has no fields"):
        json_body("array<int>", reason="why")


def test_avro(frame) -> None:
    fastavro = pytest.importorskip("fastavro")
    from mqframe_spark.decoding.avro_decoding import parse

    def encoded(value) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parse(ORDER), value)
        return out.getvalue()

    value = {"id": 1 << 40, "paid": True, "lines": {"tea": 2}}
    good = encoded(value)
    orders = frame(good, None, good[:-2], encoded({"id": 3, "paid": None, "lines": {}}))
    chosen = orders.select(avro_body(ORDER).alias("order"), "queue_offset")
    rows = {row["queue_offset"]: row["order"] for row in chosen.collect()}
    assert rows[0].asDict() == value
    assert rows[3].asDict() == {"id": 3, "paid": None, "lines": {}}
    assert rows[1] is rows[2] is None
    framed = frame(b"\0\0\0\0\7" + good, good).select(avro_body(ORDER, framing="confluent").alias("o"))
    assert framed.where("o is not null").select("o.id").collect() == [(1 << 40,)]
    with pytest.raises(Exception, match=f"a body of {len(good) - 2} bytes"):
        orders.select(avro_body(ORDER, on_error="fail")).collect()


def test_avro_options_are_checked(monkeypatch) -> None:
    pytest.importorskip("fastavro")
    with pytest.raises(
        SettingError, match="framing = 'kafka': must be one of plain, single_object, confluent"
    ):
        avro_body(ORDER, framing="kafka")
    with pytest.raises(SettingError, match="writers are for framing = 'confluent', not 'plain'"):
        avro_body(ORDER, writers={1: ORDER})
    with pytest.raises(SettingError, match="is no Avro schema"):
        avro_body("{")
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(SettingError, match=r'pip install "mqframe-plugin-spark\[avro\]"'):
        avro_body(ORDER)


def test_properties_of_the_application_alone(spark) -> None:
    messages = spark.sql(
        "select * from values (1, map('UNIQ_KEY', 'u', 'mine', '1', 'CLUSTER', 'c', 'IDEMPOTENCE_KEY', 'i')),"
        " (2, map('yours', '2', 'TAGS', 'x')), (3, map('WAIT', 'true')), (4, null)"
        " as messages (n, properties)"
    )
    whole, left, named = (
        {row.n: row.kept for row in messages.select("n", column.alias("kept")).collect()}
        for column in (
            own_properties(),
            own_properties("mine", "other"),
            own_properties(column=messages["properties"]),
        )
    )
    assert whole == named == {1: {"mine": "1"}, 2: {"yours": "2"}, 3: {}, 4: None}
    assert left == {1: {}, 2: {"yours": "2"}, 3: {}, 4: None}
