"""Secrets by their names: in settings, in properties of messages, and inside of values."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = "secret|passw|passphrase|token|credential|private_?key"
_NAME: Final = re.compile(_WORDS, re.IGNORECASE)
_INSIDE: Final = re.compile(rf"(?:{_WORDS})[^=:]{{0,40}}[=:]|://[^/\s]*:[^/\s]*@", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether what is called `name` is most likely secret."""
    return _NAME.search(name) is not None


def holds_secret(value: str) -> bool:
    """Whether `value` holds a named secret itself, as a user in JSON does, or an address with a password."""
    return _INSIDE.search(value) is not None
