"""Schemas: from text, files, mappings and classes; and the fingerprints by which bodies name them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs
from fastavro import parse_schema
from fastavro.schema import SchemaParseException, UnknownType, fingerprint, to_parsing_canonical_form

from mqframe.core.errors import FixError, SettingError
from mqframe.core.printable import shortened

_BY_CLASS: Final = ("__avro_schema__", "avro_schema_to_python", "avro_schema")
"""What a class that knows its schema may call it; the last two are those of dataclasses-avroschema."""
FINGERPRINT_BYTES: Final = 8
_SHOWN: Final = 500


@attrs.frozen
class Schema:
    """A parsed schema. `mark`: the 8 bytes of its CRC-64-AVRO fingerprint, as bodies have them."""

    parsed: Any
    name: str
    mark: bytes


def load(source: Any) -> Schema:
    """The schema that `source` is: a mapping, a class that knows its own, or a text.

    A text is JSON, the path of a file that holds it, or "module:attribute" of any of these. Raises
    `SettingError`.
    """
    try:
        return _parsed(_definition(source))
    except (SchemaParseException, UnknownType, ValueError, TypeError, KeyError, RecursionError) as problem:
        said = shortened(str(problem), _SHOWN)
        raise SettingError(f"Avro schema {_title(source)}: {type(problem).__name__}: {said}") from problem


def of_class(cls: Any) -> Schema | None:
    """The schema that `cls` knows; `None` when it knows none. Raises `FixError` for one that is none."""
    if not isinstance(cls, type):
        return None
    found = _own(cls)
    if found is None:
        return None
    try:
        return _parsed(json.loads(found) if isinstance(found, str) else found)
    except (SchemaParseException, UnknownType, ValueError, TypeError, KeyError, RecursionError) as problem:
        raise FixError(f"the Avro schema of {cls.__qualname__}: {problem}") from problem


def _definition(source: Any) -> Any:
    if isinstance(source, type):
        found = _own(source)
        if found is None:
            known = ", ".join(_BY_CLASS)
            raise SettingError(f"class {source.__qualname__} has no Avro schema; it needs one of {known}")
        source = found
    if isinstance(source, Mapping | list):
        return source
    if isinstance(source, Path):
        return json.loads(_read(source))
    if not isinstance(source, str):
        raise SettingError(f"an Avro schema cannot be a {type(source).__qualname__}")
    text = source.strip()
    if text.startswith(("{", "[", '"')):
        return json.loads(text)
    if ":" in text and not _exists(Path(text)):
        module, _, attribute = text.partition(":")
        try:
            return _definition(getattr(importlib.import_module(module), attribute))
        except (ImportError, AttributeError) as problem:
            said = shortened(str(problem), _SHOWN)
            raise SettingError(
                f"Avro schema {shortened(text, _SHOWN)!r} cannot be found: {said}"
            ) from problem
    return json.loads(_read(Path(text)))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        said = shortened(str(problem), _SHOWN)
        raise SettingError(f"Avro schema {shortened(str(path), _SHOWN)} cannot be read: {said}") from problem


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # no name that a file could have
        return False


def _own(cls: type) -> Any:
    for name in _BY_CLASS:
        found = getattr(cls, name, None)
        if found is not None:
            return found() if callable(found) else found
    return None


def _parsed(definition: Any) -> Schema:
    parsed = parse_schema(definition)
    name = parsed.get("name", "") if isinstance(parsed, dict) else ""
    if not name:
        name = parsed.get("type", "") if isinstance(parsed, dict) else parsed
    # Of the canonical form: defaults and documentation do not change it, as Avro's specification says.
    mark = bytes.fromhex(fingerprint(to_parsing_canonical_form(definition), "CRC-64-AVRO"))
    return Schema(parsed, str(name), mark)


def _title(source: Any) -> str:
    return source.__qualname__ if isinstance(source, type) else repr(source)[:100]
