"""Which kind of schema is meant, and what somebody's file or class is."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from mqframe.core.errors import FixError
from mqframe_schemas.formats.avro_bodies import BY_CLASS, AvroFormat
from mqframe_schemas.formats.bodies import SchemaFormat
from mqframe_schemas.formats.json_bodies import JsonFormat
from mqframe_schemas.formats.protobuf_bodies import ProtobufFormat

FORMATS: Final[dict[str, SchemaFormat]] = {
    each.name: each for each in (JsonFormat(), AvroFormat(), ProtobufFormat())
}
_AVRO_TYPES: Final = ("record", "enum", "fixed", "map")
"""Types of Avro's that JSON schemas do not have."""


def format_called(name: str) -> SchemaFormat:
    """The kind of schemas called `name`. Raises `FixError`."""
    if name not in FORMATS:
        raise FixError(f"there is no kind of schemas {name!r}; kinds: {', '.join(FORMATS)}")
    return FORMATS[name]


def format_of(source: Any) -> SchemaFormat:
    """The kind of schema that `source` is: a class, bytes, a text or what JSON has. Raises `FixError`."""
    if hasattr(source, "model_json_schema"):
        return FORMATS["json"]
    if hasattr(source, "DESCRIPTOR"):
        return FORMATS["protobuf"]
    if isinstance(source, type):
        if any(hasattr(source, name) for name in BY_CLASS):
            return FORMATS["avro"]
        raise FixError(
            f"class {source.__qualname__} has no schema: it is no model of pydantic, no class that protoc"
            f" generated, and has none of {', '.join(BY_CLASS)}"
        )
    if isinstance(source, bytes):
        source = _text(source)
    if isinstance(source, bytes):
        return FORMATS["protobuf"]
    if isinstance(source, str):
        try:
            source = json.loads(source)
        except (ValueError, RecursionError) as problem:
            raise FixError(f"the schema is no JSON: {problem}") from None
    is_avro = isinstance(source, dict) and source.get("type") in _AVRO_TYPES
    return FORMATS["avro" if is_avro or isinstance(source, list | str) else "json"]


def source_named(name: str) -> Any:
    """What `name` names: the bytes of a file, or a class as "module:Class". Raises `FixError`.

    Modules are looked for in the working folder, too.
    """
    path = Path(name)
    if ":" in name and not path.exists():
        module, _, attribute = name.partition(":")
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        try:
            return getattr(import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as problem:
            raise FixError(f"{name} cannot be found: {problem}") from problem
    try:
        return path.read_bytes()
    except OSError as problem:
        raise FixError(f"schema {name} cannot be read: {problem.strerror or problem}") from problem


def _text(source: bytes) -> str | bytes:
    """A text, where `source` may be one: descriptor sets begin with a line feed."""
    if source[:1] != b"\n":
        return source.decode(errors="replace")
    try:
        text = source.decode()
        json.loads(text)
    except (ValueError, RecursionError):
        return source
    return text
