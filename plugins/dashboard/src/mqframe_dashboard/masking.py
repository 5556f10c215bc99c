"""Secrets in settings and properties, which no page may show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from mqframe.core.config.secret_names import holds_secret, is_secret_name

MASK: Final = "••••••"
_ACCESS_KEY: Final = re.compile("access_?key", re.IGNORECASE)
"""No secret where somebody signs in; readers of a page need not know it."""


def masked(values: Mapping[str, str]) -> dict[str, str]:
    """`values` by name, with a mask for those that are secrets, or have one inside."""
    return {
        name: MASK if value and _is_secret(name, value) else value for name, value in sorted(values.items())
    }


def _is_secret(name: str, value: str) -> bool:
    return is_secret_name(name) or holds_secret(value) or _ACCESS_KEY.search(name) is not None
