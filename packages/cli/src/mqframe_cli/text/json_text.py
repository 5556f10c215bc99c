"""JSON for terminals."""

from __future__ import annotations

import re
from typing import Final

from mqframe.core.printable import HIDDEN

_UNSAFE: Final = re.compile(f"[{HIDDEN}]")


def printable_json(encoded: str) -> str:
    r"""JSON without what terminals obey: what JSON itself leaves as it is becomes \u escapes; same value."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", encoded)
