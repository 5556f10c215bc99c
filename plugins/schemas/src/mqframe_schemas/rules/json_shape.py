"""What JSON schemas are made of: references, wrappers, and which objects writers may not add to.

A schema whose objects name their `properties` and say nothing of others is open for readers: they pass over
what they do not know. For writers it is closed: what no schema speaks of is not written. So a property may be
added later, as nobody has written one of that name and another type before.
"""

from __future__ import annotations

import json
from typing import Any, Final

ANNOTATIONS: Final = frozenset(
    "$schema $id $comment $defs definitions title description default examples deprecated readOnly writeOnly"
    " format contentMediaType contentEncoding contentSchema discriminator".split()
)
"""Keywords that refuse no value, here: formats are not checked."""
IN_PLACE: Final = ("$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas")
"""Keywords that hold further schemas against the same value."""
WRAPPERS: Final = ("$ref", "allOf", "anyOf", "oneOf")
OPEN: Final = "$open"
"""Where the closed form of a schema keeps the open one, for what cannot be closed."""
_BY_NAME: Final = ("properties", "patternProperties")
_LISTS: Final = ("prefixItems",)
_ONE: Final = ("additionalProperties", "items")


def canonical(value: Any) -> str:
    """The same text for JSON values that are equal: 1 and 1.0 are."""
    return json.dumps(_plain(value), sort_keys=True)


def constraining(schema: dict[str, Any]) -> dict[str, Any]:
    """The keywords of `schema` that may refuse a value."""
    return {key: value for key, value in schema.items() if key not in ANNOTATIONS}


def wrapped(schema: dict[str, Any]) -> str:
    """The one keyword of `schema` that hands everything on to other schemas; "" where it says more."""
    said = list(constraining(schema))
    if len(said) != 1 or said[0] not in WRAPPERS:
        return ""
    return "" if said[0] == "allOf" and len(schema["allOf"]) != 1 else said[0]


def closes(schema: dict[str, Any]) -> bool:
    """Whether writers may not add properties to the objects of `schema`, which says so by saying nothing."""
    said = constraining(schema)
    if "properties" not in said or any(key in said for key in IN_PLACE):
        return False
    return "additionalProperties" not in said and "unevaluatedProperties" not in said


def closed(root: Any) -> Any:
    """The schema for writers: `root`, whose objects have no properties but those that it names.

    Where further schemas hold for the same object, as with `allOf`, it stays as it is.
    """
    if not isinstance(root, dict):
        return root
    made = _closed(root)
    for name in ("$defs", "definitions"):
        if name in root:
            made[name] = {key: _closed(value) for key, value in root[name].items()}
    made[OPEN] = _moved({key: value for key, value in root.items() if key not in ("$id", "$schema")})
    return made


def references(schema: Any) -> list[str]:
    """All that `schema` refers to."""
    if isinstance(schema, list):
        return [found for each in schema for found in references(each)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return own + [found for each in schema.values() for found in references(each)]


def pointed(root: Any, reference: str) -> Any:
    """The schema in `root` that `reference` ("#/$defs/Order") is. Raises `LookupError`."""
    place = root
    for word in reference.removeprefix("#").split("/")[1:]:
        word = word.replace("~1", "/").replace("~0", "~")
        place = place[int(word)] if isinstance(place, list) else place[word]
    return place


def _closed(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    keyword = wrapped(schema)
    if keyword == "$ref":
        return dict(schema)
    if keyword:
        return {**schema, keyword: [_closed(each) for each in schema[keyword]]}
    if any(key in schema for key in IN_PLACE):
        return _moved(schema)
    made = {key: value if key in ANNOTATIONS else _moved(value) for key, value in schema.items()}
    for key in _BY_NAME:
        if key in schema:
            made[key] = {name: _closed(each) for name, each in schema[key].items()}
    for key in _LISTS:
        if key in schema:
            made[key] = [_closed(each) for each in schema[key]]
    for key in _ONE:
        if key in schema:
            made[key] = _closed(schema[key])
    if closes(schema):
        made["additionalProperties"] = False
    return made


def _moved(schema: Any) -> Any:
    """`schema` with references into the open form."""
    if isinstance(schema, list):
        return [_moved(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {key: _moved(value) for key, value in schema.items()}
    if isinstance(schema.get("$ref"), str):
        moved["$ref"] = f"#/{OPEN}{schema['$ref'].removeprefix('#')}"
    return moved


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
