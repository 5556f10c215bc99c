"""Bodies in Avro's binary form, as Arrow. Runs in Spark's tasks."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from decimal import InvalidOperation
from typing import Any, Final, Literal
from uuid import UUID

import attrs
import fastavro
import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType, fingerprint, to_parsing_canonical_form

from mqframe.core.errors import GiveUpError, SettingError
from mqframe_spark.decoding.avro_types import ColumnType, column_type

Framing = Literal["plain", "single_object", "confluent"]
FRAMINGS: Final = ("plain", "single_object", "confluent")

_SINGLE_OBJECT: Final = b"\xc3\x01"
_FINGERPRINT_BYTES: Final = 8
_CONFLUENT: Final = b"\x00"
_ID_BYTES: Final = 4
_BAD: Final = (
    EOFError, IndexError, ValueError, TypeError, KeyError, OverflowError, InvalidOperation, MemoryError,
    struct.error, fastavro.read.SchemaResolutionError,
)  # fmt: skip
"""What fastavro raises for bytes that are no value of the schema."""
_UNFIT: Final = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)
"""What Arrow raises for values that a schema's type does not hold."""


class AvroError(GiveUpError):
    """A body is not what the schema says."""


def parse(schema: str | Mapping[str, Any]) -> Any:
    """`schema`, JSON text or what that stands for, checked. Raises `SettingError`."""
    try:
        plain: Any = json.loads(schema) if isinstance(schema, str) else schema
        return fastavro.parse_schema(plain)
    except (SchemaParseException, UnknownType, KeyError, ValueError, TypeError, AttributeError) as problem:
        raise SettingError(f"schema = {schema!r} is no Avro schema: {problem!r}") from problem


@attrs.define(eq=False)
class AvroDecoder:
    """Decodes bodies that were written with `schema`, or, told by an id in front, with one of `writers`.

    `on_error`: "null" makes a bad body null, "fail" raises `AvroError`. Picklable.
    """

    schema: str | Mapping[str, Any]
    framing: Framing = "plain"
    writers: Mapping[int, str | Mapping[str, Any]] = attrs.field(factory=dict)
    on_error: Literal["null", "fail"] = "null"
    _parsed: Any = attrs.field(init=False, default=None)
    _parsed_writers: dict[int, Any] = attrs.field(init=False, factory=dict)
    _type: ColumnType | None = attrs.field(init=False, default=None)
    _begin: bytes = attrs.field(init=False, default=b"")

    def __attrs_post_init__(self) -> None:
        self._parsed = parse(self.schema)
        self._type = column_type(self._parsed)
        self._parsed_writers = {number: parse(schema) for number, schema in self.writers.items()}
        if self.framing == "single_object":
            mark = fingerprint(to_parsing_canonical_form(self._parsed), "CRC-64-AVRO")
            self._begin = _SINGLE_OBJECT + bytes.fromhex(mark)

    @property
    def type(self) -> ColumnType:
        """Of the values."""
        assert self._type is not None
        return self._type

    def decode(self, bodies: pa.Array) -> pa.Array:
        """The values of `bodies`; null stays null."""
        values = [None if body is None else self._value(body) for body in bodies.to_pylist()]
        try:
            return pa.array(values, self.type.arrow)
        except _UNFIT as problem:
            if self.on_error == "fail":
                raise AvroError(f"a value does not fit {self.type.spark}: {problem}") from problem
        return pa.array([value if self._fits(value) else None for value in values], self.type.arrow)

    def _fits(self, value: Any) -> bool:
        try:
            pa.scalar(value, self.type.arrow)
        except _UNFIT:
            return False
        return True

    def _value(self, body: bytes) -> Any:
        try:
            writer, at = self._unframed(body)
            stream = io.BytesIO(body)
            stream.seek(at)
            reader = None if writer is self._parsed else self._parsed
            value = fastavro.schemaless_reader(stream, writer, reader)
            if stream.tell() != len(body):
                raise ValueError(f"{len(body) - stream.tell()} bytes follow behind the value")
            return _plain(value)
        except _BAD as problem:
            if self.on_error == "null":
                return None
            raise AvroError(
                f"a body of {len(body)} bytes, {body[:16].hex()}…, cannot be decoded: {problem}"
            ) from problem

    def _unframed(self, body: bytes) -> tuple[Any, int]:
        """The writer's schema, and where the value begins."""
        if self.framing == "plain":
            return self._parsed, 0
        if self.framing == "single_object":
            if not body.startswith(self._begin):
                raise ValueError(f"it does not begin with {self._begin.hex()}, the mark of this schema")
            return self._parsed, len(_SINGLE_OBJECT) + _FINGERPRINT_BYTES
        start = len(_CONFLUENT) + _ID_BYTES
        if len(body) < start or not body.startswith(_CONFLUENT):
            raise ValueError("it does not begin with 0 and the id of a schema")
        number = int.from_bytes(body[len(_CONFLUENT) : start], "big")
        if not self._parsed_writers:
            return self._parsed, start
        if number not in self._parsed_writers:
            raise ValueError(f"schema id {number} is not among those given: {sorted(self._parsed_writers)}")
        return self._parsed_writers[number], start


def _plain(value: Any) -> Any:
    """`value` as Arrow takes it."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, UUID) else value
