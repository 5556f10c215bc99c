"""Numbers in properties of messages, as Java reads a long."""

from __future__ import annotations

import re
from typing import Final

from mqframe.core.messages.properties import find_property

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}\Z")
_LONG_MAX: Final = (1 << 63) - 1


def whole_number(text: str) -> int | None:
    """The 64-bit number that `text` says; `None` when it says none."""
    if not _NUMBER.match(text):
        return None
    value = int(text)
    return value if -_LONG_MAX - 1 <= value <= _LONG_MAX else None


def stated_number(properties: str, name: str) -> int | None:
    """The number that one of the properties, in text form, says; `None` where it says none."""
    said = find_property(properties, name)
    return None if said is None else whole_number(said)
