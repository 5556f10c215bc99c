"""Whether a reader's message type of Protocol Buffers finds what a writer's lets be written, as it was meant.

Any bytes that one type writes are legal for another one, or nearly: what is asked here is that no value
changes. Fields are known by their numbers; those that the reader does not have are passed over, and those
that the writer does not have are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from mqframe_schemas.rules.compatibility import Difference

WIDER: Final[Mapping[str, tuple[str, ...]]] = {
    "int32": ("int64",),
    "uint32": ("uint64", "int64"),
    "sint32": ("sint64",),
    "bool": ("int32", "int64", "uint32", "uint64"),
    "enum": ("int32", "int64"),
    "string": ("bytes",),
}
"""Types whose values another type reads as the same ones, of all that have the same form on the wire."""
Found = list[Difference]


@attrs.frozen
class FieldShape:
    """A field. `kind`: "int32", "string", "message", "enum" …; `of`: the full name of its type or enum.

    `choice`: the `oneof` that it is in, "" for none.
    """

    number: int
    name: str
    kind: str
    repeated: bool = False
    required: bool = False
    of: str = ""
    choice: str = ""


@attrs.frozen
class ProtobufShape:
    """A message type `root` with all that it is made of: fields by message type, numbers by enum."""

    root: str
    messages: Mapping[str, tuple[FieldShape, ...]]
    enums: Mapping[str, frozenset[int]]


class ProtobufComparison:
    """One writer's message type and one reader's."""

    def __init__(self, writer: ProtobufShape, reader: ProtobufShape) -> None:
        self._writer, self._reader = writer, reader
        self._under_way: set[tuple[str, str]] = set()

    def differences(self) -> Found:
        """Why the reader does not find what the writer writes; nothing where it does."""
        return self._messages(self._writer.root, self._reader.root, "")

    def _messages(self, writer: str, reader: str, path: str) -> Found:
        if (writer, reader) in self._under_way:
            return []
        self._under_way.add((writer, reader))
        try:
            before = {field.number: field for field in self._writer.messages[writer]}
            after = self._reader.messages[reader]
            found = [
                Difference(_inside(path, field), "is required, and not always written")
                for field in after
                if field.required and not (field.number in before and before[field.number].required)
            ]
            for field in after:
                if field.number in before:
                    found += self._fields(before[field.number], field, path)
            return found + _choices(before, after, path)
        finally:
            self._under_way.discard((writer, reader))

    def _fields(self, before: FieldShape, after: FieldShape, path: str) -> Found:
        path = _inside(path, before)
        if before.repeated != after.repeated:
            came = "may be there many times" if before.repeated else "is there once"
            return [Difference(path, f"{came}, and is read otherwise")]
        if before.kind != after.kind:
            if after.kind in WIDER.get(before.kind, ()):
                return []
            return [Difference(path, f"number {before.number} is {before.kind}, and read as {after.kind}")]
        if before.kind in ("message", "group"):
            return self._messages(before.of, after.of, path)
        if before.kind == "enum":
            gone = self._writer.enums[before.of] - self._reader.enums[after.of]
            if gone:
                return [
                    Difference(path, f"{', '.join(map(str, sorted(gone)))} is no longer known in {after.of}")
                ]
        return []


def _choices(before: Mapping[int, FieldShape], after: tuple[FieldShape, ...], path: str) -> Found:
    """Of fields of one `oneof` only the last that was written stays."""
    found: Found = []
    for choice in sorted({field.choice for field in after if field.choice}):
        known = [before[field.number] for field in after if field.choice == choice and field.number in before]
        alone = {field.choice or field.number for field in known}
        if len(alone) > 1:
            names = ", ".join(field.name for field in known)
            found.append(
                Difference(path, f"{names} may be there together, and oneof {choice} takes one of them")
            )
    return found


def _inside(path: str, field: FieldShape) -> str:
    return f"{path}.{field.name}" if path else field.name
