from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypedDict

import msgspec
import pytest
from fastavro import parse_schema, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st
from mqframe_avro import AvroCodec
from mqframe_avro.schemas import load
from mqframe_testing.conformance import CodecConformance
from mqframe_testing.conformance.codec import UnknownClass
from pydantic import BaseModel

from mqframe.core.errors import DecodeError, EncodeError
from mqframe.hooks.interfaces import Codec
from mqframe.hooks.manager import PluginManager

SCHEMA = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": "string", "default": ""},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "articles", "type": {"type": "array", "items": "string"}, "default": []},
    ],
}
OLDER = {**SCHEMA, "fields": [each for each in SCHEMA["fields"] if each["name"] != "note"]}
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


@dataclass
class Order:
    id: int
    at: datetime
    price: Decimal
    note: str = ""
    articles: list[str] = field(default_factory=list)


class StructOrder(msgspec.Struct):
    id: int
    at: datetime
    price: Decimal
    note: str = ""
    articles: list[str] = []


class ModelOrder(BaseModel):
    id: int
    at: datetime
    price: Decimal
    note: str = ""
    articles: list[str] = []


class DictOrder(TypedDict):
    id: int
    at: datetime
    price: Decimal
    note: str
    articles: list[str]


VALUES: dict[str, Any] = {"id": 7, "at": NOW, "price": Decimal("1.10"), "note": "ü", "articles": ["a", "b"]}


class TestAvro(CodecConformance):
    def make(self) -> Codec:
        return PluginManager().create("codec", "avro", {"schema": SCHEMA})

    def values(self) -> Iterable[tuple[Any, Any]]:
        return [
            (Order, Order(**VALUES)),
            (StructOrder, StructOrder(**VALUES)),
            (ModelOrder, ModelOrder(**VALUES)),
            (DictOrder, VALUES),
            (dict, VALUES),
            (Any, VALUES),
            (Order, Order(7, NOW, Decimal("0.01"), "x" * (3 << 20))),
        ]

    def wrong(self) -> Iterable[tuple[Any, bytes]]:
        body = self.make().encode(Order(**{**VALUES, "note": self.secret}))
        return [
            (Order, b""),
            (Order, body[10:]),
            (Order, body + b"\x00"),
            (Order, body[:2] + bytes(8) + body[10:]),
            (dict[str, int], body),
            (Order, b'{"id":7}'),
        ]

    def strangers(self) -> Iterable[Any]:
        return [UnknownClass, list[UnknownClass], 7]

    def unfit(self) -> Iterable[Any]:
        return [UnknownClass(), Order(id=self.secret, at=NOW, price=Decimal(1)), {"id": self.secret}, [1]]


class TestClassesWithSchemas(CodecConformance):
    @dataclass
    class Point:
        __avro_schema__ = {
            "type": "record",
            "name": "Point",
            "fields": [{"name": "x", "type": "double"}, {"name": "y", "type": "double"}],
        }
        x: float
        y: float

    def make(self) -> Codec:
        return AvroCodec()

    def values(self) -> Iterable[tuple[Any, Any]]:
        return [(self.Point, self.Point(1.5, -2.0))]

    def strangers(self) -> Iterable[Any]:
        return [UnknownClass, dict, Order]


def test_bodies_are_avros_single_objects() -> None:
    codec = AvroCodec(AvroCodec.Options(schema='"long"'))
    body = codec.encode(5)
    assert body == b"\xc3\x01" + load('"long"').mark + b"\x0a"
    assert codec.decode(body, int) == 5


def test_a_body_of_another_version_is_read_where_that_is_known() -> None:
    older = AvroCodec(AvroCodec.Options(schema=OLDER))
    body = older.encode(Order(**VALUES))
    with pytest.raises(DecodeError, match=rf"fingerprint {body[2:10].hex()}; name it among `writers`"):
        AvroCodec(AvroCodec.Options(schema=SCHEMA)).decode(body, Order)
    newer = AvroCodec(AvroCodec.Options(schema=SCHEMA, writers=(OLDER,)))
    assert newer.decode(body, Order) == Order(**{**VALUES, "note": ""})


def test_without_header_the_datum_is_alone() -> None:
    codec = AvroCodec(AvroCodec.Options(schema=SCHEMA, header=False))
    out = io.BytesIO()
    schemaless_writer(out, parse_schema(SCHEMA), VALUES)
    assert codec.encode(Order(**VALUES)) == out.getvalue()
    assert codec.decode(out.getvalue(), Order) == Order(**VALUES)


def test_errors_name_the_field() -> None:
    codec = AvroCodec(AvroCodec.Options(schema=SCHEMA))
    with pytest.raises(EncodeError, match=r"a Order does not fit shop\.Order: field shop\.Order\.id"):
        codec.encode(Order(id="x", at=NOW, price=Decimal(1)))
    with pytest.raises(DecodeError) as caught:
        codec.decode(codec.encode(Order(**VALUES)), dict[str, int])
    assert caught.value.path


@given(st.integers(-(2**63), 2**63 - 1), st.text(), st.lists(st.text()))
def test_records_survive(number: int, note: str, articles: list[str]) -> None:
    codec = AvroCodec(AvroCodec.Options(schema=SCHEMA))
    value = Order(number, NOW, Decimal("12.34"), note, articles)
    assert codec.decode(codec.encode(value), Order) == value
