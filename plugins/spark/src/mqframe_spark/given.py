"""Options as Spark hands them over: texts, found whatever the case of their names."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final

from mqframe.core.cluster.name_servers import parse_addresses
from mqframe.core.errors import MessageError, SettingError
from mqframe.core.messages.names import check_group

SECRETS: Final = ("accesskey", "secretkey", "securitytoken")
"""Options whose values are never shown, nor those of names that were meant to be one of them."""
_SECRET: Final = re.compile("secret|key|token|passw|pwd|credential|auth|jaas", re.IGNORECASE)
_ALIKE: Final = 0.6


class Given:
    """The options that came. `names`: all that there are, as they are documented.

    All methods raise `SettingError` that names option and value.
    """

    def __init__(self, given: Mapping[str, str], names: Sequence[str]) -> None:
        self.values = {name.lower(): value for name, value in given.items()}
        known = {name.lower() for name in names}
        unknown = sorted(set(self.values) - known)
        if unknown:
            shown = ", ".join(_shown(name, self.values[name]) for name in unknown)
            raise SettingError(f"unknown option {shown}; options of mqframe: {', '.join(names)}")

    def get(self, name: str) -> str | None:
        """The text of `name`; `None` when it was not given."""
        return self.values.get(name.lower())

    def number(self, name: str) -> int | None:
        """A whole number above 0."""
        value = self.get(name)
        if value is None:
            return None
        if not value.strip().isdecimal() or int(value) == 0:
            raise SettingError(f"option {name} = {value!r}: must be a whole number above 0")
        return int(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """true or false."""
        value = self.get(name)
        if value is None:
            return default
        word = value.strip().lower()
        if word not in ("true", "false"):
            raise SettingError(f"option {name} = {value!r}: must be true or false")
        return word == "true"

    def group(self, name: str, default: str) -> str:
        """The name of a consumer or producer group."""
        value = self.get(name)
        if value is None:
            return default
        try:
            check_group(value)
        except MessageError as problem:
            raise SettingError(f"option {name} = {value!r}: {problem}") from None
        return value

    def one_of(self, *names: str) -> str | None:
        """Which of `names` was given; at most one may be."""
        found = [name for name in names if self.get(name) is not None]
        if len(found) > 1:
            raise SettingError(f"options {' and '.join(found)} contradict each other; give one of them")
        return found[0] if found else None

    def nameserver(self) -> str:
        """Addresses of name servers; the variable NAMESRV_ADDR stands in."""
        text = self.get("nameserver") or os.environ.get("NAMESRV_ADDR", "")
        try:
            return ";".join(parse_addresses(text))
        except SettingError as problem:
            raise SettingError(f"option nameserver = {text!r}: {problem}") from None


def _shown(name: str, value: str) -> str:
    """An unknown option for people to read; without its value where that may be a secret misspelt."""
    alike = any(SequenceMatcher(None, name, secret).ratio() > _ALIKE for secret in SECRETS)
    return name if alike or _SECRET.search(name) else f"{name} = {value!r}"
