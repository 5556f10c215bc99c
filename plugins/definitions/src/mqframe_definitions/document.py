"""The file: tables of definitions by kind and name, read strictly, written so that it can be read again."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec

from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import SettingError

Specs = Mapping[str, type[msgspec.Struct]]
"""What may stand in the tables of each kind."""
Stated = dict[str, dict[str, dict[str, Any]]]
"""By kind and name the fields that a file states, as the kind's `Spec` has them."""


def read_document(text: str, specs: Specs, source: str) -> Stated:
    """What `text` states, from the file `source`.

    Raises `SettingError` for what is no TOML, an unknown kind or field, and a value of the wrong type; it
    says where.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SettingError(f"{source} is no TOML: {problem}") from None
    found: Stated = {}
    for kind, tables in raw.items():
        spec = specs.get(kind)
        if spec is None:
            near = did_you_mean(kind, specs) or f"known are {', '.join(specs)}"
            raise SettingError(f"{source}: [{kind}] is no kind of definition; {near}")
        if not isinstance(tables, dict):
            raise SettingError(f"{source}: {kind} must be tables, as [{kind}.name]")
        found[kind] = {
            name: _stated(table, spec, f"{source}: [{kind}.{name}]") for name, table in tables.items()
        }
    return found


def _stated(table: object, spec: type[msgspec.Struct], where: str) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise SettingError(f"{where} must be a table")
    try:
        made = msgspec.convert(table, spec)
    except msgspec.ValidationError as problem:
        unknown = sorted(set(table) - set(spec.__struct_encode_fields__))
        near = did_you_mean(unknown[0], spec.__struct_encode_fields__) if unknown else ""
        raise SettingError(f"{where}: {problem}{'; ' + near if near else ''}") from None
    names = zip(spec.__struct_encode_fields__, spec.__struct_fields__, strict=True)
    return {field: getattr(made, field) for encoded, field in names if encoded in table}


def write_document(definitions: Mapping[str, Mapping[str, msgspec.Struct]]) -> str:
    """The text of a file with `definitions`, by kind and name; what is as by default is left out."""
    import tomli_w

    tables = {
        kind: {name: _without_defaults(each) for name, each in sorted(named.items())}
        for kind, named in definitions.items()
        if named
    }
    return tomli_w.dumps(tables)


def _without_defaults(made: msgspec.Struct) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(made)
    default: dict[str, Any] = msgspec.to_builtins(type(made)())
    return {name: value for name, value in found.items() if value != default[name] and value is not None}
