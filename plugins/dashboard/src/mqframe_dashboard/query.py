"""Query strings of pages: texts, counts and moments, each within bounds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from mqframe.core.errors import FixError
from mqframe.core.moments import unit_of

TEXT_MAX: Final = 1024
"""Longest value, characters."""
MS_MAX: Final = 253_402_300_799_999
"""The end of the year 9999, ms since 1970."""


class BadQuery(FixError):
    """A value in the address of a page that makes no sense. The message names it."""


class Query:
    """The query string of a request, by name; what is given twice counts once."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        """A value without white space around it, or "". Raises `BadQuery`."""
        value = self._values.get(name, "").strip()
        if len(value) > TEXT_MAX:
            raise BadQuery(f"{name}: {len(value)} characters are too many; at most {TEXT_MAX}")
        return value

    def needed(self, name: str) -> str:
        """A value that has to be there. Raises `BadQuery`."""
        value = self.text(name)
        if not value:
            raise BadQuery(f"{name}: is missing in the address of this page")
        return value

    def count(self, name: str, default: int, most: int) -> int:
        """A number from 1 to `most`. Raises `BadQuery`."""
        value = self.text(name)
        if not value:
            return default
        if not re.fullmatch("[0-9]{1,9}", value) or not 1 <= int(value) <= most:
            raise BadQuery(f"{name}: {value!r} must be a number from 1 to {most}")
        return int(value)

    def moment(self, name: str, default: int) -> int:
        """A time, ms since 1970; one that names no zone is of this machine's. Raises `BadQuery`."""
        value = self.text(name)
        if not value:
            return default
        if re.fullmatch("[0-9]{1,16}", value):
            if unit := unit_of(int(value)):
                raise BadQuery(f"{name}: {value} counts {unit}; write milliseconds since 1970, or a time")
            if int(value) <= MS_MAX:
                return int(value)
        try:
            return max(0, int(datetime.fromisoformat(value).astimezone().timestamp() * 1000))
        except (ValueError, OverflowError):
            raise BadQuery(
                f"{name}: {value!r} is no time; write 2026-01-31T12:00 or milliseconds since 1970"
            ) from None

    def moment_text(self, name: str) -> str:
        """The time as it was typed, with the zone for which it is taken; what is no time as it is."""
        value = self.text(name)
        try:
            found = datetime.fromisoformat(value)
            return value if found.tzinfo else found.astimezone().isoformat()
        except (ValueError, OverflowError):
            return value
