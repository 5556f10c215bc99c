"""Which type of Arrow, and of Spark, stands for an Avro schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa

from mqframe.core.errors import SettingError


class ColumnType(NamedTuple):
    """One type, as Arrow has it and as Spark's DDL writes it."""

    arrow: pa.DataType
    spark: str


_PLAIN: Final = {
    "boolean": ColumnType(pa.bool_(), "boolean"),
    "int": ColumnType(pa.int32(), "int"),
    "long": ColumnType(pa.int64(), "bigint"),
    "float": ColumnType(pa.float32(), "float"),
    "double": ColumnType(pa.float64(), "double"),
    "bytes": ColumnType(pa.binary(), "binary"),
    "fixed": ColumnType(pa.binary(), "binary"),
    "string": ColumnType(pa.string(), "string"),
    "enum": ColumnType(pa.string(), "string"),
    "null": ColumnType(pa.null(), "void"),
}
_LOGICAL: Final = {
    ("int", "date"): ColumnType(pa.date32(), "date"),
    ("long", "timestamp-millis"): ColumnType(pa.timestamp("us", tz="UTC"), "timestamp"),
    ("long", "timestamp-micros"): ColumnType(pa.timestamp("us", tz="UTC"), "timestamp"),
    ("long", "local-timestamp-millis"): ColumnType(pa.timestamp("us"), "timestamp_ntz"),
    ("long", "local-timestamp-micros"): ColumnType(pa.timestamp("us"), "timestamp_ntz"),
    ("string", "uuid"): ColumnType(pa.string(), "string"),
}
_UNREAD: Final = ("time-millis", "time-micros", "duration")
_DECIMAL_DIGITS_MAX: Final = 38


def column_type(schema: Any) -> ColumnType:
    """The type of values of `schema`, as `fastavro.parse_schema` gives it.

    Raises `SettingError`, which names the field, for what has no counterpart: a record within itself, a union
    of different types, times of day, numbers of more than 38 digits.
    """
    return _Types().of(schema, "the schema")


class _Types:
    """Named types that were seen, and those that are being looked at."""

    def __init__(self) -> None:
        self._named: dict[str, ColumnType | None] = {}

    def of(self, schema: Any, where: str) -> ColumnType:
        if isinstance(schema, list):
            return self._union(schema, where)
        if isinstance(schema, Mapping):
            return self._complex(schema, where)
        if schema in _PLAIN:
            return _PLAIN[schema]
        found = self._named.get(schema)
        if found is None:
            raise SettingError(f"{where}: {schema} is a record within itself, which no column can hold")
        return found

    def _complex(self, schema: Mapping[str, Any], where: str) -> ColumnType:
        kind = schema["type"]
        name = schema.get("name")
        if name is not None:
            self._named[name] = None
        made = self._made(kind, schema, where)
        if name is not None:
            self._named[name] = made
        return made

    def _made(self, kind: Any, schema: Mapping[str, Any], where: str) -> ColumnType:
        nested: dict[str, Callable[[Mapping[str, Any], str], ColumnType]] = {
            "record": self._record,
            "error": self._record,
            "array": self._array,
            "map": self._map,
        }
        if not isinstance(kind, str):
            return self.of(kind, where)
        if kind in nested:
            return nested[kind](schema, where)
        logical = schema.get("logicalType")
        if logical == "decimal" and kind in ("bytes", "fixed"):
            digits, scale = schema["precision"], schema.get("scale", 0)
            if digits > _DECIMAL_DIGITS_MAX:
                raise SettingError(f"{where}: a decimal of {digits} digits; Spark's have at most 38")
            return ColumnType(pa.decimal128(digits, scale), f"decimal({digits},{scale})")
        if logical in _UNREAD:
            raise SettingError(f"{where}: there is no column for {logical}")
        return _LOGICAL.get((kind, logical or "")) or self.of(kind, where)

    def _record(self, schema: Mapping[str, Any], where: str) -> ColumnType:
        fields = [(each["name"], self.of(each["type"], f"field {each['name']}")) for each in schema["fields"]]
        if not fields:
            raise SettingError(f"{where}: a record without fields")
        inner = ", ".join(f"`{name}`: {kind.spark}" for name, kind in fields)
        return ColumnType(pa.struct([(name, kind.arrow) for name, kind in fields]), f"struct<{inner}>")

    def _array(self, schema: Mapping[str, Any], where: str) -> ColumnType:
        items = self.of(schema["items"], f"items of {where}")
        return ColumnType(pa.list_(items.arrow), f"array<{items.spark}>")

    def _map(self, schema: Mapping[str, Any], where: str) -> ColumnType:
        values = self.of(schema["values"], f"values of {where}")
        return ColumnType(pa.map_(pa.string(), values.arrow), f"map<string, {values.spark}>")

    def _union(self, schema: list[Any], where: str) -> ColumnType:
        kinds = [self.of(each, where) for each in schema if each != "null"]
        plain = {each for each in schema if isinstance(each, str)} - {"null"}
        if len(kinds) == 1:
            return kinds[0]
        if len(plain) == len(kinds) and kinds:
            if plain <= {"int", "long"}:
                return _PLAIN["long"]
            if plain <= {"float", "double"}:
                return _PLAIN["double"]
        if not kinds:
            return _PLAIN["null"]
        raise SettingError(f"{where}: a union of different types has no column; of one type and null it has")
