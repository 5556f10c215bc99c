"""Whether a reader's Avro schema resolves whatever a writer's lets be written, by Avro's specification.

Where that leaves something to the datum, the answer is no: bytes become a string only where they are UTF-8.
Schemas come parsed, as fastavro does it: names are full ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from mqframe_schemas.rules.compatibility import Difference

NAMED: Final = ("record", "error", "enum", "fixed")
PROMOTIONS: Final = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
}
_LOGICAL: Final = ("logicalType", "precision", "scale")
Found = list[Difference]


class AvroComparison:
    """One writer's schema and one reader's."""

    def __init__(self, writer: Any, reader: Any) -> None:
        self._writer, self._reader = writer, reader
        self._written, self._read = dict(_named(writer)), dict(_named(reader))
        self._under_way: set[tuple[str, str]] = set()

    def differences(self) -> Found:
        """Why the reader cannot read what the writer writes; nothing where it can."""
        if self._writer == self._reader:
            return []  # then nothing is resolved
        return self._compare(self._writer, self._reader, "")

    def _compare(self, writer: Any, reader: Any, path: str) -> Found:
        writer, reader = _followed(writer, self._written), _followed(reader, self._read)
        if isinstance(writer, list):
            return _joined(self._compare(branch, reader, path) for branch in writer)
        if isinstance(reader, list):
            # Readers take the first branch that seems to fit, without a look at what it is made of.
            fit = next((branch for branch in reader if self._seems_to_fit(writer, branch)), None)
            if fit is None:
                return [Difference(path, f"a {_title(writer)} is none of what is read")]
            return self._compare(writer, fit, path)
        found = _logical(writer, reader, path)
        kind, after = _kind(writer), _kind(reader)
        if kind in NAMED or after in NAMED:
            return found + self._named_types(writer, reader, path)
        if kind == after == "array":
            return found + self._compare(writer["items"], reader["items"], f"{path}[...]")
        if kind == after == "map":
            return found + self._compare(writer["values"], reader["values"], f"{path}.*")
        if kind != after and after not in PROMOTIONS.get(kind, ()):
            found.append(Difference(path, f"{_article(kind)} is not read as {_article(after)}"))
        return found

    def _named_types(self, writer: Any, reader: Any, path: str) -> Found:
        kind, after = _kind(writer), _kind(reader)
        if kind != after:
            return [Difference(path, f"{_article(kind)} is not read as {_article(after)}")]
        if not _same_name(writer, reader):
            problem = (
                f"{kind} {writer['name']} is called {reader['name']} now; name the former among its aliases"
            )
            return [Difference(path, problem)]
        pair = writer["name"], reader["name"]
        if pair in self._under_way:
            return []
        self._under_way.add(pair)
        try:
            if kind == "fixed":
                same = writer["size"] == reader["size"]
                return [] if same else [Difference(path, f"size {writer['size']} became {reader['size']}")]
            if kind == "enum":
                return _symbols(writer, reader, path)
            return self._fields(writer, reader, path)
        finally:
            self._under_way.discard(pair)

    def _fields(self, writer: Any, reader: Any, path: str) -> Found:
        found: Found = []
        left = {field["name"]: field for field in reader["fields"]}
        by_alias = {alias: field for field in reader["fields"] for alias in field.get("aliases", ())}
        for field in writer["fields"]:
            after = left.get(field["name"]) or by_alias.get(field["name"])
            if after is None:
                continue
            if after["name"] not in left:
                found.append(
                    Difference(_inside(path, field["name"]), f"is read as {after['name']}, which is there")
                )
                continue
            del left[after["name"]]
            found += self._compare(field["type"], after["type"], _inside(path, field["name"]))
        found += [
            Difference(_inside(path, name), "is not written by the other version, and has no default")
            for name, field in left.items()
            if "default" not in field
        ]
        return found

    def _seems_to_fit(self, writer: Any, reader: Any) -> bool:
        writer, reader = _followed(writer, self._written), _followed(reader, self._read)
        if isinstance(writer, list) or isinstance(reader, list):
            return True
        kind, after = _kind(writer), _kind(reader)
        if kind in NAMED and after in NAMED:
            sizes = kind != after or kind != "fixed" or writer["size"] == reader["size"]
            return sizes and _same_name(writer, reader)
        if kind == after == "array":
            return self._seems_to_fit(writer["items"], reader["items"])
        if kind == after == "map":
            return self._seems_to_fit(writer["values"], reader["values"])
        if kind in NAMED or after in NAMED:
            return False
        return kind == after or after in PROMOTIONS.get(kind, ()) or (kind, after) == ("bytes", "string")


def _named(schema: Any) -> Iterator[tuple[str, Any]]:
    """The types that `schema` names, wherever in it."""
    if isinstance(schema, list):
        for branch in schema:
            yield from _named(branch)
    elif isinstance(schema, dict):
        if schema.get("type") in NAMED:
            yield schema["name"], schema
        for inner in ("items", "values"):
            yield from _named(schema.get(inner))
        for field in schema.get("fields", ()):
            yield from _named(field["type"])
        if isinstance(schema.get("type"), dict | list):
            yield from _named(schema["type"])


def _followed(schema: Any, named: dict[str, Any]) -> Any:
    while isinstance(schema, dict) and isinstance(schema.get("type"), dict | list):
        schema = schema["type"]
    if isinstance(schema, dict) and schema.get("type") in named:
        return named[schema["type"]]
    return named.get(schema, schema) if isinstance(schema, str) else schema


def _kind(schema: Any) -> str:
    return str(schema["type"] if isinstance(schema, dict) else schema)


def _title(schema: Any) -> str:
    return f"{_kind(schema)} {schema['name']}" if _kind(schema) in NAMED else _kind(schema)


def _article(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def _same_name(writer: Any, reader: Any) -> bool:
    """Namespaces do not count, as packages differ between languages."""
    short = writer["name"].rpartition(".")[2]
    aliases = reader.get("aliases", ())
    return short == reader["name"].rpartition(".")[2] or writer["name"] in aliases or short in aliases


def _symbols(writer: Any, reader: Any, path: str) -> Found:
    gone = [symbol for symbol in writer["symbols"] if symbol not in reader["symbols"]]
    if not gone or reader.get("default"):
        return []
    return [Difference(path, f"{', '.join(gone)} is no longer known, and there is no default symbol")]


def _logical(writer: Any, reader: Any, path: str) -> Found:
    before, after = (
        tuple(schema.get(key) for key in _LOGICAL) if isinstance(schema, dict) else (None, None, None)
        for schema in (writer, reader)
    )
    if before[0] == after[0] and (before[0] != "decimal" or before == after):
        return []
    return [
        Difference(
            path, f"{before[0] or 'what has no logical type'} is read as {after[0] or 'a plain value'}"
        )
    ]


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _joined(found: Iterable[Found]) -> Found:
    return list(dict.fromkeys(each for some in found for each in some))
