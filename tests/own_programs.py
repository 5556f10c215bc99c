"""Programs that tests start themselves, and what becomes of a test where one is missing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Skip for `reason`; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def served(prefix: str, make: Callable[[Path], Any]) -> Iterator[Any]:
    """A server that runs in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix=f"mqframe-{prefix}-"))
    server = make(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
