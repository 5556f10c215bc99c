"""What a supervised process has of its supervisor: to end with it, and to tell it things."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import Final

PARENT: Final = 0
"""The descriptor that ends with the supervisor, and reaches it: standard input."""
READY: Final = "ready"
"""A server tells so, and its address."""
FAILED: Final = "failed"
"""A server tells so, and why it cannot start."""


def end_with_supervisor() -> None:
    """From now on, have this process get SIGTERM once its supervisor is gone."""
    threading.Thread(target=_watch, name="mqframe-supervisor", daemon=True).start()


def tell_supervisor(line: str) -> None:
    """Hand `line` to the supervisor, if that is still there; line breaks become spaces."""
    with contextlib.suppress(OSError):
        os.write(PARENT, f"{' '.join(line.splitlines())}\n".encode())


def _watch() -> None:
    with contextlib.suppress(OSError):  # it may end with something of ours unread
        while os.read(PARENT, 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
