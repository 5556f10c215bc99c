"""Tests of compiled code, which are none where it is not built (CONTRIBUTING.md says how)."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
IS_BUILT = importlib.util.find_spec("mqframe_speedups") is not None
if not IS_BUILT:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="module", params=[False, True], ids=["body's CRC", "record's CRC"])
def reference(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A store of this project beside the compiled code; one more with a CRC over each record."""
    from laid_out import Reference

    made = Reference(tmp_path_factory.mktemp("store"), guarded=request.param)
    yield made
    made.store.abandon()
