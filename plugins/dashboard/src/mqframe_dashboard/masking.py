"""Secrets in settings and properties, which no page may show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MASK: Final = "••••••"
_WORDS: Final = "secret|passw|passphrase|token|credential|private_?key|access_?key"
_NAME: Final = re.compile(_WORDS, re.IGNORECASE)
_INSIDE: Final = re.compile(rf"(?:{_WORDS})[^=:]{{0,40}}[=:]|://[^/\s]*:[^/\s]*@", re.IGNORECASE)
"""A value that holds a named secret itself, such as a user as JSON, or an address with a password."""


def masked(values: Mapping[str, str]) -> dict[str, str]:
    """`values` by name, with a mask for those that are secrets, or have one inside."""
    return {
        name: MASK if value and (_NAME.search(name) or _INSIDE.search(value)) else value
        for name, value in sorted(values.items())
    }
