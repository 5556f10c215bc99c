"""Answers of broker services that hold a whole table: made in slices, others are served in between."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

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


def _around(text: bytes, name: str) -> tuple[bytes, bool, bytes]:
    """What stands before and behind the entries of `name`, and whether it is a table."""
    for is_table, brackets in ((True, b"{}"), (False, b"[]")):
        before, found, behind = text.partition(b'"%b":%b' % (name.encode(), brackets))
        if found:
            return before + found[:-1], is_table, brackets[1:] + behind
    raise AssertionError(f"{name} is no empty table of {text[:200]!r}")
