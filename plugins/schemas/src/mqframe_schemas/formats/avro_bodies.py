"""Avro schemas, by fastavro: data alone, or in the single-object encoding, as the codec `avro` writes it."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any, Final

from mqframe.core.errors import FixError
from mqframe.core.printable import shortened
from mqframe_schemas.formats.bodies import BodySchema, ParsedSchema, SchemaFormat, UnfitBody
from mqframe_schemas.formats.libraries import library
from mqframe_schemas.rules.avro_schema import AvroComparison
from mqframe_schemas.rules.compatibility import Described, Difference
from mqframe_schemas.rules.history import SchemaVersion

MARK: Final = b"\xc3\x01"
HEADER_BYTES: Final = len(MARK) + 8
"""A mark of two bytes, and the CRC-64-AVRO fingerprint of the writer's schema."""
BY_CLASS: Final = ("__avro_schema__", "avro_schema_to_python", "avro_schema")
"""What a class that knows its schema may call it; the last two are those of dataclasses-avroschema."""
_SHOWN: Final = 500


class AvroFormat(SchemaFormat):
    """Schemas of Avro."""

    name = "avro"
    codec = "avro"

    def parse(self, source: Any, message: str = "") -> ParsedSchema:
        """A text, a dict, or a class that knows its schema."""
        definition = _definition(source)
        parsed = _parsed(definition)
        name = parsed.get("name", "") if isinstance(parsed, dict) else ""
        return ParsedSchema(json.dumps(definition, separators=(",", ":")), str(name))

    def load(self, version: SchemaVersion) -> BodySchema:
        """With fastavro's reader."""
        return AvroBodies(json.loads(version.text))

    def unread(self, writer: Described, reader: Described) -> list[Difference]:
        """By the rules of `mqframe_schemas.rules.avro_schema`."""
        before, after = _parsed(json.loads(writer.text)), _parsed(json.loads(reader.text))
        return AvroComparison(before, after).differences()

    def codec_options(self, reader: SchemaVersion, writers: Sequence[SchemaVersion]) -> dict[str, Any]:
        """The reader's schema, and those that bodies may have been written by."""
        others = [json.loads(each.text) for each in writers if each.number != reader.number]
        return {"schema": json.loads(reader.text), "writers": others}


class AvroBodies(BodySchema):
    """One schema of Avro."""

    def __init__(self, definition: Any) -> None:
        schema = library("fastavro.schema", "avro")
        self._parsed = _parsed(definition)
        canonical = schema.to_parsing_canonical_form(definition)
        self._mark = bytes.fromhex(schema.fingerprint(canonical, "CRC-64-AVRO"))
        self._read = library("fastavro", "avro").schemaless_reader

    def wrote(self, body: bytes) -> bool:
        """Whether its header names this schema."""
        return self.marked(body) and body[len(MARK) : HEADER_BYTES] == self._mark

    def marked(self, body: bytes) -> bool:
        """Whether it has the header of single objects."""
        return len(body) >= HEADER_BYTES and body.startswith(MARK)

    def check(self, body: bytes) -> None:
        """Raises `UnfitBody` for what is no datum, and for one that is followed by something."""
        self.decode(body)

    def decode(self, body: bytes) -> Any:
        """The datum; dates, decimals and the like are what fastavro makes of them."""
        source = io.BytesIO(body)
        source.seek(HEADER_BYTES if self.wrote(body) else 0)
        try:
            datum = self._read(source, self._parsed, None)
        except MemoryError:
            raise
        except Exception as problem:  # whatever a body that is none leads fastavro to
            raise self._stranger(body, f"it is no datum of the schema ({type(problem).__name__})") from None
        left = len(body) - source.tell()
        if left:
            raise self._stranger(body, f"{left} bytes follow the datum")
        return datum

    def _stranger(self, body: bytes, problem: str) -> UnfitBody:
        if self.marked(body) and not self.wrote(body):
            mark = body[len(MARK) : HEADER_BYTES].hex()
            return UnfitBody(f"it was written by a schema of fingerprint {mark}, which is another one")
        return UnfitBody(problem)


def _definition(source: Any) -> Any:
    for name in BY_CLASS if isinstance(source, type) else ():
        found = getattr(source, name, None)
        if found is not None:
            source = found() if callable(found) else found
            break
    if isinstance(source, str | bytes):
        try:
            source = json.loads(source)
        except (ValueError, RecursionError) as problem:
            raise FixError(f"the Avro schema is no JSON: {problem}") from None
    if not isinstance(source, dict | list | str):
        raise FixError(
            f"an Avro schema cannot be a {type(source).__qualname__}; give JSON, a dict or a class"
        )
    return source


def _parsed(definition: Any) -> Any:
    parse = library("fastavro", "avro").parse_schema
    try:
        return parse(definition)
    except Exception as problem:  # whatever a schema that is none leads fastavro to
        said = shortened(str(problem), _SHOWN)
        raise FixError(f"the Avro schema is none: {type(problem).__name__}: {said}") from problem
