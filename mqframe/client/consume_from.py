"""Where a group begins to consume, as applications say it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from mqframe.core.consume_rules import ConsumeFrom
from mqframe.core.errors import FixError


def beginning(consume_from: object) -> tuple[ConsumeFrom, int]:
    """The rule, and for a moment its time in ms since 1970.

    `consume_from`: "last", "first", a `datetime`, or ms since 1970. Raises `FixError` for anything else.
    """
    if isinstance(consume_from, datetime):
        return ConsumeFrom.TIMESTAMP, int(consume_from.timestamp() * 1000)
    if isinstance(consume_from, int) and not isinstance(consume_from, bool):
        return ConsumeFrom.TIMESTAMP, consume_from
    words: Mapping[object, ConsumeFrom] = {"last": ConsumeFrom.LAST, "first": ConsumeFrom.FIRST}
    if not isinstance(consume_from, str) or consume_from not in words:
        raise FixError(f'consume_from {consume_from!r} is not "last", "first", a datetime or milliseconds')
    return words[consume_from], 0
