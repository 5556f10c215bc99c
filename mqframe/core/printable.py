"""Text of strangers, made harmless for terminals and pages: control characters are written as escapes."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
"""Behind the first 32: DEL, the second set of controls, which some terminals obey as well, what turns the
direction of writing, and two line ends."""
_UNSAFE: Final = re.compile(f"[\x00-\x1f{HIDDEN}\ud800-\udfff]")
_UNSAFE_IN_LINES: Final = re.compile(f"[\x00-\x08\x0b-\x1f{HIDDEN}\ud800-\udfff]")
_NAMED: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    """`text` in one line: control characters, and what turns the direction of writing, as escapes."""
    return _UNSAFE.sub(_escaped, text)


def printable_lines(text: str) -> str:
    """As `printable`, but line ends and tabs stay."""
    return _UNSAFE_IN_LINES.sub(_escaped, text)


def shortened(text: str, characters_max: int) -> str:
    """`text`, or so many characters of it and how many it has; those who sent it may have sent megabytes."""
    return text if len(text) <= characters_max else f"{text[:characters_max]}… ({len(text)} characters)"


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _NAMED.get(found[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
