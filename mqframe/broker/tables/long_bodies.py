"""Bodies that hold a whole table: made in slices, so that others are served in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from mqframe.core.requests.serving import Reply
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.frame import Body as Bytes
from mqframe.core.wire.loose_json import dumps
from mqframe.turns import in_turns

SLICE: Final = 512
"""Entries of a table that are made in one turn."""


async def table_reply(
    body: Body, name: str, items: Iterable[tuple[Any, Any]], *, ext: dict[str, str] | None = None
) -> Reply:
    """The answer `body`, whose table or list on the wire called `name`, which is empty, holds `items`.

    A list gets the values of the items. `items` are taken in slices: they must not be those of a table that
    changes meanwhile.
    """
    before, is_table, behind = _around(dumps(body), name)
    parts: list[Bytes] = [before]
    async for some in in_turns(items, SLICE):
        text = dumps(dict(some) if is_table else [value for _, value in some])
        if len(parts) > 1:
            parts.append(b",")
        parts.append(text[1:-1])
    parts.append(behind)
    return Reply(ext=ext, body=parts)


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


def _around(text: bytes, name: str) -> tuple[bytes, bool, bytes]:
    """What stands before and behind the entries of `name`, and whether it is a table."""
    for is_table, brackets in ((True, b"{}"), (False, b"[]")):
        before, found, behind = text.partition(b'"%b":%b' % (name.encode(), brackets))
        if found:
            return before + found[:-1], is_table, brackets[1:] + behind
    raise AssertionError(f"{name} is no empty table of {text[:200]!r}")
