"""Where the stories take place: in memory where there is such a thing, and without threads."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from simulated.pools import work_at_once


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own; whatever is given to thread pools is done at once."""
    work_at_once(monkeypatch)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="mqframe-") as name:
        yield Path(name)
