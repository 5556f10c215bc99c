"""Bodies that hold a whole table: made in slices, so that others are served in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from mqframe.core.wire.bodies import Body
from mqframe.core.wire.loose_json import dumps
from mqframe.turns import in_turns

SLICE: Final = 512
"""Entries of a table that are made in one turn."""


async def body_parts(body: Body, rewritten: Rewritten | None = None) -> list[bytes]:
    """`dumps(body)` in parts, with tables of many entries made in slices. These may change meanwhile.

    `rewritten`: what remembers the text of entries since the last call, for a table that is written often.
    """
    parts: list[bytes] = []
    names = zip(body.__struct_fields__, body.__struct_encode_fields__, strict=True)
    for name, wire_name in names:
        value = getattr(body, name)
        if value is None:
            continue
        parts.append(b'%b"%b":' % (b"," if parts else b"{", wire_name.encode()))
        if not isinstance(value, dict) or len(value) <= SLICE:
            parts.append(dumps(value))
            continue
        entries = None
        if rewritten is not None and isinstance(next(iter(value.values())), Body):
            entries = rewritten.entries(name, len(value))
        between = b"{"
        async for some in in_turns(tuple(value.items()), SLICE):
            text = dumps(dict(some) if entries is None else entries(some))
            parts += (between, text[1:-1])
            between = b","
        parts.append(b"}")
    return [*parts, b"}"] if parts else [b"{}"]


class Rewritten:
    """The texts of a table's entries, of which few change between two calls: only those are written anew.

    Entries are compared by identity: whoever changes one puts another in its place.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, dict[str, tuple[object, msgspec.Raw]]] = {}

    def entries(
        self, name: str, count: int
    ) -> Callable[[Sequence[tuple[str, Body]]], dict[str, msgspec.Raw]]:
        """What makes of some entries of the table called `name`, which has `count`, their texts by key."""
        known = self._known.setdefault(name, {})
        if len(known) > 2 * count:
            known.clear()

        def texts(some: Sequence[tuple[str, Body]]) -> dict[str, msgspec.Raw]:
            found: dict[str, msgspec.Raw] = {}
            for key, entry in some:
                old = known.get(key)
                if old is None or old[0] is not entry:
                    old = known[key] = (entry, msgspec.Raw(dumps(entry)))
                found[key] = old[1]
            return found

        return texts
