"""Memory that is free, given back to the system: glibc keeps what lies between blocks in use."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Final

WORTH_BYTES: Final = 64 * 1024 * 1024
"""Less is not looked for: what is free is soon used again."""


def _find() -> Any:
    with contextlib.suppress(OSError, TypeError):  # TypeError: Windows
        return getattr(ctypes.CDLL(None), "malloc_trim", None)
    return None


_trim: Final = _find()


def give_back() -> None:
    """Give back what is free, where the C library can: some 40 ms for a gigabyte."""
    if _trim is not None:
        _trim(0)
