"""Avro's single-object encoding: two bytes of a mark, the fingerprint of the schema, the datum."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import msgspec
from fastavro import schemaless_reader, schemaless_writer, validate
from fastavro.validation import ValidationError

from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import DecodeError, EncodeError, FixError
from mqframe.core.messages.json_codec import class_without_rules
from mqframe.hooks.interfaces import Codec
from mqframe_avro.schemas import FINGERPRINT_BYTES, Schema, load, of_class

MARK: Final = b"\xc3\x01"
HEADER_BYTES: Final = len(MARK) + FINGERPRINT_BYTES
_KEPT: Final = (bytes, bytearray, datetime, date, time, timedelta, Decimal, UUID)
"""Types that Avro's logical types stand for; fastavro turns them into bytes, not msgspec."""


class AvroCodec(Codec):
    """Records in Avro. Where no schema is given, classes bring their own.

    A body that was written by another version of the schema is read where that one is among `writers`, and
    resolved into the reader's by Avro's rules.
    """

    name = "avro"
    content_type = "application/avro"

    @settings("plugins.avro")
    class Options:
        """Which schemas."""

        schema: Any = setting(
            None,
            doc="JSON, the path of a file, module:attribute, a mapping or a class; none: that of the type",
        )
        writers: tuple[Any, ...] = setting((), doc="other versions that bodies were written by, likewise")
        header: bool = setting(
            True, doc="bodies begin with the fingerprint of their schema; false: the datum alone"
        )

    def __init__(self, options: Options | None = None) -> None:
        given = options or self.Options()
        self._schema = None if given.schema is None else load(given.schema)
        self._writers = {each.mark: each for each in map(load, given.writers)}
        self._header = given.header

    def encode(self, value: Any) -> bytes:
        """The datum behind its header. Raises `EncodeError`, which names the field that does not fit."""
        schema = self._schema_of(type(value))
        if schema is None:
            raise EncodeError(f"there is no Avro schema for a {_title(type(value))}; give one: {_ADVICE}")
        out = io.BytesIO()
        if self._header:
            out.write(MARK + schema.mark)
        try:
            datum = _plain(value)
            schemaless_writer(out, schema.parsed, datum)
            return out.getvalue()
        except Exception as problem:  # fastavro raises whatever the value raises, and quotes it
            kind = type(problem).__name__
        raise EncodeError(
            f"a {_title(type(value))} does not fit {schema.name}: {_wrong(value, schema, kind)}"
        )

    def decode(self, body: bytes, type: Any) -> Any:
        """The datum as a `type`. Raises `DecodeError`."""
        reader = self._schema_of(type)
        if reader is None:
            raise FixError(f"there is no Avro schema for {_title(type)}; give one: {_ADVICE}")
        writer, start = reader, 0
        if self._header:
            writer, start = self._writer(body, reader), HEADER_BYTES
        source = io.BytesIO(body)
        source.seek(start)
        try:
            resolved = None if writer is reader else reader.parsed
            datum = schemaless_reader(source, writer.parsed, resolved)
        except MemoryError:
            raise
        except Exception as problem:  # whatever a damaged body leads fastavro to
            raise DecodeError(f"no datum of schema {writer.name}: {problem.__class__.__name__}") from None
        left = len(body) - source.tell()
        if left:
            raise DecodeError(f"{left} bytes follow the datum of schema {writer.name}")
        return _as(datum, type)

    def check(self, type: Any) -> None:
        """Raises `FixError` for a type without a schema, and one that no datum is turned into."""
        if self._schema_of(type) is None:
            raise FixError(f"there is no Avro schema for {_title(type)}; give one: {_ADVICE}")
        if _validator(type) is None:
            _known(type)

    def schema(self, value: Any) -> str:
        """Its full name."""
        found = self._schema_of(type(value))
        return "" if found is None else found.name

    def _schema_of(self, type: Any) -> Schema | None:
        return self._schema or _class_schema(type)

    def _writer(self, body: bytes, reader: Schema) -> Schema:
        if len(body) < HEADER_BYTES or not body.startswith(MARK):
            raise DecodeError("it does not begin with Avro's mark of single objects and a fingerprint")
        mark = body[len(MARK) : HEADER_BYTES]
        writer = reader if mark == reader.mark else self._writers.get(mark)
        if writer is None:
            raise DecodeError(
                f"it was written by a schema that is not known here, of fingerprint {mark.hex()};"
                " name it among `writers`"
            )
        return writer


_ADVICE: Final = 'codec=("avro", {"schema": "order.avsc"})'


@lru_cache(maxsize=1024)
def _class_schema(cls: Any) -> Schema | None:
    return of_class(cls)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):  # a pydantic model
        return value.model_dump(by_alias=True)
    return msgspec.to_builtins(value, builtin_types=_KEPT)


def _as(datum: Any, type: Any) -> Any:
    if type is Any or type is dict:
        return datum
    validate_model = _validator(type)
    try:
        if validate_model is not None:
            return validate_model(datum)
        return msgspec.convert(datum, type, builtin_types=_KEPT)
    except msgspec.ValidationError as problem:
        what, _, path = str(problem).rpartition(" - at ")
    except ValueError as problem:  # of pydantic, whose words quote the value
        faults: list[Any] = getattr(problem, "errors", list)()
        what, path = "no valid model", ""
        if faults:
            what, path = faults[0]["type"].replace("_", " "), ".".join(map(str, faults[0]["loc"]))
    raise DecodeError(what or "no value of the type", path.replace("`", ""))


def _validator(type: Any) -> Any:
    """How pydantic makes one of `type`, where that is its model."""
    return getattr(type, "model_validate", None)


def _known(type: Any) -> None:
    try:
        unknown = class_without_rules(type)
    except (TypeError, NameError) as problem:
        raise FixError(f"{_title(type)} cannot be made of Avro's data: {problem}") from problem
    if unknown is not None:
        raise FixError(
            f"{_title(type)} cannot be made of Avro's data: {unknown.__qualname__} is none of dataclass,"
            " msgspec.Struct, attrs class, TypedDict and pydantic model"
        )


def _wrong(value: Any, schema: Schema, kind: str) -> str:
    """What of `value` does not fit, without the value."""
    try:
        validate(_plain(value), schema.parsed, raise_errors=True)
    except ValidationError as problem:
        fields = [each.field for each in problem.errors if getattr(each, "field", "")]
        if fields:
            return f"field {fields[0]}"
    except Exception:  # it is not even a value that can be looked at
        return kind
    return kind


def _title(type: Any) -> str:
    return str(getattr(type, "__qualname__", type))
