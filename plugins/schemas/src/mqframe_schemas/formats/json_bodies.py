"""JSON schemas, by jsonschema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from mqframe.core.errors import FixError
from mqframe.core.printable import shortened
from mqframe_schemas.formats.bodies import BodySchema, ParsedSchema, SchemaFormat, UnfitBody
from mqframe_schemas.formats.libraries import library
from mqframe_schemas.rules.compatibility import Described, Difference
from mqframe_schemas.rules.history import SchemaVersion
from mqframe_schemas.rules.json_schema import JsonComparison
from mqframe_schemas.rules.json_shape import closed, pointed, references

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SHOWN: Final = 200
_DEEP: Final = ("anyOf", "oneOf", "not", "if", "contains", "dependentSchemas", "propertyNames")
"""Keywords whose value would say too much."""
_OTHERS: Final = ("$dynamicRef", "$dynamicAnchor", "$anchor", "$recursiveRef", "$vocabulary")
"""Keywords by which a schema would mean what these rules do not follow."""


class JsonFormat(SchemaFormat):
    """JSON schemas of the draft 2020-12, which is the one that pydantic makes."""

    name = "json"
    codec = "json"

    def parse(self, source: Any, message: str = "") -> ParsedSchema:
        """A text, a dict, or a class with `model_json_schema`, as models of pydantic have."""
        try:
            schema = _definition(source)
            _check(schema)
            closed(schema)
            text = json.dumps(schema, separators=(",", ":"))
        except RecursionError:
            raise FixError("the JSON schema is nested too deeply") from None
        title = schema.get("title", "") if isinstance(schema, dict) else ""
        return ParsedSchema(text, title if isinstance(title, str) and title.isprintable() else "")

    def load(self, version: SchemaVersion) -> BodySchema:
        """With a validator for bodies that are written."""
        return JsonBodies(json.loads(version.text))

    def unread(self, writer: Described, reader: Described) -> list[Difference]:
        """By the rules of `mqframe_schemas.rules.json_schema`."""
        validator = _validators()
        after = json.loads(reader.text)
        root = validator(after)

        def accepts(part: Any, value: Any) -> bool:
            return bool(root.evolve(schema=part).is_valid(value))

        return JsonComparison(json.loads(writer.text), after, accepts).differences()


class JsonBodies(BodySchema):
    """One JSON schema. Objects have no properties that it does not name, unless it says something of them."""

    def __init__(self, schema: Any) -> None:
        made = _validators()
        self._validators = [made(closed(schema))]
        if '"oneOf"' in json.dumps(schema):  # what is closed may fit just one where more did before
            self._validators.append(made(schema))

    def check(self, body: bytes) -> None:
        """Raises `UnfitBody` with the path of the first fault, as "$.articles[0].id"."""
        value = self.decode(body)
        for validator in self._validators:
            try:
                faults = sorted(validator.iter_errors(value), key=lambda fault: list(map(str, fault.path)))
            except RecursionError:
                raise UnfitBody("nested too deeply") from None
            if faults:
                raise _unfit(faults)

    def decode(self, body: bytes) -> Any:
        """The value. Raises `UnfitBody` for what is no JSON."""
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise UnfitBody("it is no JSON in UTF-8") from None


def _definition(source: Any) -> Any:
    made = getattr(source, "model_json_schema", None)
    if made is not None:
        source = made(mode="serialization")
    if isinstance(source, str | bytes):
        try:
            source = json.loads(source)
        except ValueError as problem:
            raise FixError(f"the JSON schema is no JSON: {problem}") from None
    if not isinstance(source, dict | bool):
        raise FixError(f"a JSON schema cannot be a {type(source).__qualname__}; give an object, or a model")
    return source


def _check(schema: Any) -> None:
    validator = _validators()
    if isinstance(schema, bool):
        return
    said = schema.get("$schema", DIALECT)
    if str(said).rstrip("#") != DIALECT:
        raise FixError(f"the JSON schema is of {shortened(str(said), _SHOWN)}; only {DIALECT} is known here")
    fault = next(iter(validator(validator.META_SCHEMA).iter_errors(schema)), None)
    if fault is not None:
        place = "/".join(map(str, fault.absolute_path))
        raise FixError(f"the JSON schema is none at #/{place}: {shortened(fault.message, _SHOWN)}")
    for name in _OTHERS:
        if f'"{name}":' in json.dumps(schema, separators=(",", ":")):
            raise FixError(f"the JSON schema has {name}, which is not followed here; use $ref with $defs")
    for pattern in _patterns(schema):
        try:
            re.compile(pattern)
        except re.error as problem:
            said = shortened(repr(pattern), _SHOWN)
            raise FixError(f"the JSON schema has the pattern {said}, which is none: {problem}") from None
    for reference in references(schema):
        try:
            found = pointed(schema, reference) if reference.startswith("#") else None
        except (LookupError, ValueError, TypeError):
            found = None
        if not isinstance(found, dict | bool):
            raise FixError(
                f"the JSON schema refers to {shortened(reference, _SHOWN)}, which is nothing in it; put what"
                " it means under $defs"
            )


def _patterns(schema: Any) -> Iterator[str]:
    """All regular expressions in `schema`."""
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for each in inner:
        yield from _patterns(each)
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), dict):
            yield from schema["patternProperties"]


def _unfit(faults: list[Any]) -> UnfitBody:
    told = list(dict.fromkeys(map(_told, faults)))
    path, problem = told[0]
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    return UnfitBody(problem + more, path)


def _told(fault: Any) -> tuple[str, str]:
    """Where `fault` is, and what it is, by what the schema says and without the value."""
    while fault.context:  # of alternatives the one that went furthest says more than that none fits
        furthest = max(fault.context, key=lambda each: len(each.absolute_path))
        if len(furthest.absolute_path) <= len(fault.absolute_path):
            break
        fault = furthest
    path = "$" + "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in fault.absolute_path)
    return path, _said(fault)


def _said(fault: Any) -> str:
    keyword, asked = fault.validator, fault.validator_value
    if keyword is None:
        return "nothing may be here"
    if keyword == "type":
        return f"must be of type {' or '.join(asked) if isinstance(asked, list) else asked}"
    if keyword == "required":
        return f"lacks {', '.join(name for name in asked if name not in fault.instance)}"
    if keyword in ("additionalProperties", "unevaluatedProperties"):
        patterns = "|".join(f"(?:{each})" for each in fault.schema.get("patternProperties", ()))
        named = fault.schema.get("properties", {})
        others = [name for name in fault.instance if name not in named]
        others = [name for name in others if not (patterns and re.search(patterns, name))]
        return f"has {shortened(', '.join(others), _SHOWN)}, which the schema does not name"
    if keyword in _DEEP:
        return f"does not fit {keyword}"
    return f"does not fit {keyword} {shortened(json.dumps(asked), _SHOWN)}"


def _validators() -> Any:
    return library("jsonschema", "json").Draft202012Validator
